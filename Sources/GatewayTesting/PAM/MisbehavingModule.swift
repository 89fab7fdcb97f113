/// A PAM module in C that misbehaves, and does some things that make its view observable.
///
/// The first word of its line in the stack selects the action; see `act` at the end:
///
/// - `hang`, `hang-in-child`, `segfault`, `exit`, `print`, `speak` and `close` break its process or its socket.
/// - `chroot`, `become`, `groups`, `limit`, `chdir`, `umask` and `block` change its process permanently.
/// - `daemon` and `daemon-and-hang` leave processes behind, in sessions of their own.
/// - `user`, `no-user` and `binary-user` change the user.
/// - `host`, `tty`, `alone` and `below` succeed if their condition is met.
/// - `password`, `any-password`, `echo`, `radio` and `many` start a conversation.
/// - `hang-for NAME` hangs for one user.
/// - `by-name` runs the action that the user's name has before its first `-`.
/// - `note FILE` appends a line with the user's name and lets the stack continue.
enum MisbehavingModule {
    /// The source code.
    static let source = #"""
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <grp.h>
        #include <security/pam_modules.h>
        #include <security/pam_appl.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/resource.h>
        #include <sys/socket.h>
        #include <sys/stat.h>
        #include <unistd.h>

        static int same(pam_handle_t *handle, int item, const char *wanted) {
            const void *value = NULL;
            pam_get_item(handle, item, &value);
            return value != NULL && strcmp(value, wanted) == 0 ? PAM_SUCCESS : PAM_AUTH_ERR;
        }

        static int ask(pam_handle_t *handle, int count, const int *styles, const char *wanted) {
            struct pam_message messages[64];
            const struct pam_message *pointers[64];
            for (int i = 0; i < count; i++) {
                messages[i].msg_style = styles[i < 4 ? i : 3];
                messages[i].msg = "?";
                pointers[i] = &messages[i];
            }
            const struct pam_conv *conversation = NULL;
            pam_get_item(handle, PAM_CONV, (const void **)&conversation);
            struct pam_response *answers = NULL;
            int status = conversation->conv(count, pointers, &answers, conversation->appdata_ptr);
            if (status != PAM_SUCCESS) return status;
            for (int i = 0; i < count; i++) {
                if (messages[i].msg_style != PAM_PROMPT_ECHO_OFF) {
                    if (answers[i].resp != NULL) return PAM_ABORT;
                } else {
                    if (strcmp(answers[i].resp, wanted) != 0) status = PAM_AUTH_ERR;
                    explicit_bzero(answers[i].resp, strlen(answers[i].resp));
                    free(answers[i].resp);
                }
            }
            free(answers);
            return status;
        }

        // The gateway's descriptors are sockets, pipes and files. The worker's own runtime opens none of these.
        static int inherited(void) {
            int count = 0;
            for (int i = 4; i < 1024; i++) {
                struct stat status;
                if (fstat(i, &status) == 0 && (status.st_mode & S_IFMT) != 0) count++;
            }
            return count;
        }

        static int act(pam_handle_t *handle, int count, const char **words) {
            const char *what = count > 0 ? words[0] : "succeed";
            const char *value = count > 1 ? words[1] : "";
            if (strcmp(what, "succeed") == 0) return PAM_SUCCESS;
            if (strcmp(what, "ignore") == 0) return PAM_IGNORE;
            if (strcmp(what, "by-name") == 0) {
                // The action is the part of the user's name before its first `-`.
                const void *user = NULL;
                pam_get_item(handle, PAM_USER, &user);
                char name[64];
                snprintf(name, sizeof name, "%s", user != NULL ? (const char *)user : "");
                name[strcspn(name, "-")] = 0;
                const char *word = name;
                return act(handle, 1, &word);
            }
            if (strcmp(what, "note") == 0) {
                // One write a line: O_APPEND keeps the lines of several workers apart.
                const void *user = NULL;
                pam_get_item(handle, PAM_USER, &user);
                char line[300];
                int length = snprintf(line, sizeof line, "%s\n", user != NULL ? (const char *)user : "");
                int file = open(value, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
                if (file < 0 || write(file, line, length) != length) return PAM_SYSTEM_ERR;
                close(file);
                return PAM_IGNORE;
            }
            if (strcmp(what, "hang") == 0) for (;;) pause();
            if (strcmp(what, "hang-in-child") == 0) {
                if (fork() == 0) for (;;) pause();
                for (;;) pause();
            }
            if (strcmp(what, "segfault") == 0) *(volatile int *)8 = 1;
            if (strcmp(what, "exit") == 0) _exit(0);
            if (strcmp(what, "print") == 0) {
                for (int i = 0; i < 10000; i++) printf("\001garbage %d\n", i);
                fflush(stdout);
                write(1, what, 5);
                write(2, what, 5);
                return PAM_AUTH_ERR;
            }
            if (strcmp(what, "speak") == 0) {
                char packet[64];
                memset(packet, 0, sizeof packet);
                packet[0] = packet[1] = 1;
                send(3, packet, sizeof packet, 0);
                return PAM_SUCCESS;
            }
            if (strcmp(what, "close") == 0) {
                close(3);
                return PAM_SUCCESS;
            }
            // These change the worker's process and return success.
            if (strcmp(what, "chroot") == 0) return chroot(value) == 0 ? PAM_SUCCESS : PAM_SYSTEM_ERR;
            if (strcmp(what, "become") == 0) {
                return setresuid(atoi(value), atoi(value), atoi(value)) == 0 ? PAM_SUCCESS : PAM_SYSTEM_ERR;
            }
            if (strcmp(what, "groups") == 0) {
                gid_t group = atoi(value);
                return setgroups(1, &group) == 0 ? PAM_SUCCESS : PAM_SYSTEM_ERR;
            }
            if (strcmp(what, "limit") == 0) {
                struct rlimit limit = {60, 60};
                return setrlimit(RLIMIT_CPU, &limit) == 0 ? PAM_SUCCESS : PAM_SYSTEM_ERR;
            }
            if (strcmp(what, "chdir") == 0) return chdir(value) == 0 ? PAM_SUCCESS : PAM_SYSTEM_ERR;
            if (strcmp(what, "umask") == 0) {
                umask(0);
                return PAM_SUCCESS;
            }
            if (strcmp(what, "block") == 0) {
                sigset_t all;
                sigfillset(&all);
                return sigprocmask(SIG_SETMASK, &all, NULL) == 0 ? PAM_SUCCESS : PAM_SYSTEM_ERR;
            }
            if (strcmp(what, "daemon") == 0 || strcmp(what, "daemon-and-hang") == 0) {
                // A grandchild in a session of its own that ignores every signal that it can.
                if (fork() == 0) {
                    setsid();
                    if (fork() == 0) {
                        setsid();
                        for (int i = 1; i < 32; i++) signal(i, SIG_IGN);
                        for (;;) pause();
                    }
                    for (;;) pause();
                }
                if (strcmp(what, "daemon") == 0) return PAM_SUCCESS;
                for (;;) pause();
            }
            if (strcmp(what, "user") == 0) {
                pam_set_item(handle, PAM_USER, value);
                return PAM_SUCCESS;
            }
            if (strcmp(what, "no-user") == 0) {
                pam_set_item(handle, PAM_USER, NULL);
                return PAM_SUCCESS;
            }
            if (strcmp(what, "binary-user") == 0) {
                pam_set_item(handle, PAM_USER, "nobody\xff\xfe");
                return PAM_SUCCESS;
            }
            if (strcmp(what, "host") == 0) return same(handle, PAM_RHOST, value);
            if (strcmp(what, "tty") == 0) return same(handle, PAM_TTY, value);
            if (strcmp(what, "alone") == 0) {
                return getsid(0) == getpid() && inherited() == 0 && getenv("HOME") == NULL ? PAM_SUCCESS : PAM_AUTH_ERR;
            }
            if (strcmp(what, "below") == 0) {
                // Kept in the environment, because the module is loaded anew for each login.
                const char *before = getenv("CALLS");
                char now[16];
                snprintf(now, sizeof now, "%d", before != NULL ? atoi(before) + 1 : 1);
                setenv("CALLS", now, 1);
                return atoi(now) < atoi(value) ? PAM_SUCCESS : PAM_AUTH_ERR;
            }
            if (strcmp(what, "hang-for") == 0) {
                if (same(handle, PAM_USER, value) != PAM_SUCCESS) return PAM_SUCCESS;
                for (;;) pause();
            }
            if (strcmp(what, "password") == 0) {
                int styles[] = {PAM_TEXT_INFO, PAM_PROMPT_ECHO_OFF, PAM_ERROR_MSG, PAM_PROMPT_ECHO_OFF};
                return ask(handle, 4, styles, value);
            }
            if (strcmp(what, "any-password") == 0) {
                int styles[] = {PAM_PROMPT_ECHO_OFF};
                ask(handle, 1, styles, "");
                return PAM_SUCCESS;
            }
            if (strcmp(what, "echo") == 0) {
                int styles[] = {PAM_PROMPT_ECHO_OFF, PAM_PROMPT_ECHO_ON};
                return ask(handle, 2, styles, value);
            }
            if (strcmp(what, "radio") == 0) {
                int styles[] = {PAM_RADIO_TYPE};
                return ask(handle, 1, styles, value);
            }
            if (strcmp(what, "many") == 0) {
                int styles[] = {PAM_PROMPT_ECHO_OFF, PAM_PROMPT_ECHO_OFF, PAM_PROMPT_ECHO_OFF, PAM_PROMPT_ECHO_OFF};
                return ask(handle, 33, styles, value);
            }
            return PAM_SYSTEM_ERR;
        }

        int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **words) {
            return act(handle, count, words);
        }
        int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **words) { return PAM_SUCCESS; }
        int pam_sm_acct_mgmt(pam_handle_t *handle, int flags, int count, const char **words) {
            return act(handle, count, words);
        }
        """#
}
