"""Rules of accessibility that a page must keep (WCAG 2.2, level AA), checked in the browser."""

SCRIPT = r"""
const problems = [];
const visible = (e) => e.checkVisibility && e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
const nameOf = (e) => (e.getAttribute('aria-label') || '').trim()
  || (e.getAttribute('aria-labelledby') || '').split(/\s+/).map((id) => document.getElementById(id))
      .filter(Boolean).map((l) => l.textContent).join(' ').trim()
  || (e.labels ? [...e.labels].map((l) => l.textContent).join(' ').trim() : '')
  || e.textContent.trim() || (e.querySelector('title') || { textContent: '' }).textContent.trim();
if (!document.documentElement.lang) problems.push('the page has no language');
if (!document.title) problems.push('the page has no title');
if (document.querySelectorAll('main').length !== 1) problems.push('the page has not one main');
if (document.querySelectorAll('h1').length !== 1) problems.push('the page has not one h1');
let level = 0;
for (const heading of document.querySelectorAll('h1,h2,h3,h4')) {
  const own = Number(heading.tagName[1]);
  if (own > level + 1) problems.push('heading skips a level: ' + heading.textContent.trim());
  level = own;
}
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) problems.push('id occurs twice: ' + id);
for (const e of document.querySelectorAll('a[href],button,input:not([type=hidden]),select,textarea,summary'))
  if (!nameOf(e)) problems.push('no name: ' + e.outerHTML.slice(0, 80));
for (const e of document.querySelectorAll('img')) if (!e.hasAttribute('alt')) problems.push('img without alt');
for (const e of document.querySelectorAll('svg'))
  if (e.getAttribute('aria-hidden') !== 'true' && e.getAttribute('role') !== 'img'
      && !e.querySelector(':scope > g[role=img]')) problems.push('svg without role');
for (const e of document.querySelectorAll('svg[aria-labelledby]'))
  for (const id of e.getAttribute('aria-labelledby').split(/\s+/))
    if (!document.getElementById(id)) problems.push('aria-labelledby names nothing: ' + id);
for (const e of document.querySelectorAll('th')) if (!e.scope) problems.push('th without scope');
for (const e of document.querySelectorAll('[tabindex]'))
  if (e.tabIndex > 0) problems.push('positive tabindex');
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const colour = (text) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const groundOf = (e) => {
  for (; e; e = e.parentElement) {
    const c = colour(getComputedStyle(e).backgroundColor);
    if (c[3] > 250) return c;
  }
  return [255, 255, 255, 255];
};
const seen = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !e || seen.has(e) || !visible(e) || e.closest('svg')) continue;
  seen.add(e);
  const style = getComputedStyle(e);
  if (e.closest('.hidden') || e.closest('.skip')) continue;
  const [a, b] = [luminance(colour(style.color)), luminance(groundOf(e))].sort((x, y) => y - x);
  const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
  const needed = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < needed) problems.push('contrast ' + ratio.toFixed(2) + ': ' + e.textContent.trim().slice(0, 40));
}
for (const e of document.querySelectorAll('a[href],button'))
  if (visible(e) && !e.closest('p,td,li,svg,dd,small,.hidden,.skip')) {
    const box = e.getBoundingClientRect();
    if (box.width < 24 || box.height < 24) problems.push('target smaller than 24 px: ' + nameOf(e).slice(0, 40));
  }
return problems;
"""


def problems_of(driver):
    """Returns the broken rules of the page that the browser shows, as sentences."""
    return driver.execute_script(SCRIPT)
