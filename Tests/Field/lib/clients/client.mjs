// A client with Node's http2. Arguments: URL, Authorization, number of workers. Calls until its input ends.
import http2 from "node:http2";

const [url, authorization, workers] = process.argv.slice(2);
const target = new URL(url);
let session, done = false;

// A session that has received GOAWAY is closed for further requests.
function open() {
  if (!session || session.closed || session.destroyed) {
    session = http2.connect(target.origin, { rejectUnauthorized: false });
    session.on("error", () => {});
  }
  return session;
}

function call(message) {
  return new Promise((resolve) => {
    let status;
    const stream = open().request({
      ":method": "POST", ":path": target.pathname + target.search, authorization, "content-type": "application/json",
    });
    stream.on("response", (fields) => { status = fields[":status"]; });
    stream.on("error", (error) => resolve(`${error.code} ${error.message}`));
    stream.on("close", () => resolve(status ?? `closed ${stream.rstCode}`));
    stream.resume();
    stream.end(`"${message}"`);
  });
}

async function work(worker) {
  for (let count = 0; !done; count++) {
    const message = `id node-${worker}-${count}`;
    console.log("sent");
    const result = await call(message);
    console.log(result === 200 ? `ok ${message}` : `failed ${result}`);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 100));
  }
}

process.stdin.on("end", () => { done = true; }).resume();
await Promise.all(Array.from({ length: Number(workers) }, (_, worker) => work(worker)));
session?.close();
