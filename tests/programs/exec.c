/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What POSIX says of exec and of what belongs to it, in cases whose answers are printed: Linux prints the same. The
 * program executes itself.
 *
 *     exec cases PATH DIR    PATH: this program's; DIR: a directory for its files
 *     exec bad PATH...       executes each of these, and says what comes of it
 *     exec full PATH N       as many processes as there may be, each of which executes it; N times
 *     exec CASE ...          what a case has executed
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 100000, DIRTY = 4 << 20, CHAIN = 20, LONG = 128 << 10, MANY = 70000, FIRST_FD = 10 };

extern char **environ;
static char *self, *directory;

static const char *error_name(int error)
{
	static const struct { int number; const char *name; } names[] = {
		{ 0, "no error" }, { ENOENT, "ENOENT" }, { EACCES, "EACCES" }, { ENOEXEC, "ENOEXEC" },
		{ E2BIG, "E2BIG" }, { ELOOP, "ELOOP" }, { ENOTDIR, "ENOTDIR" }, { ENAMETOOLONG, "ENAMETOOLONG" },
		{ EBADF, "EBADF" },
		{ ENOMEM, "ENOMEM" }, { EAGAIN, "EAGAIN" }, { ENOSYS, "ENOSYS" }, { EINVAL, "EINVAL" },
	};
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == error)
			return names[i].name;
	return strerror(error);
}

static void say_status(const char *name, int status)
{
	if (WIFEXITED(status))
		printf("%s: exits with %d\n", name, WEXITSTATUS(status));
	else
		printf("%s: ends by signal %d\n", name, WTERMSIG(status));
}

static char *in_directory(const char *name)
{
	static char path[8][4096];
	static unsigned next;
	char *made = path[next++ % 8];

	snprintf(made, sizeof(path[0]), "%s/%s", directory, name);
	return made;
}

static char *make_file(const char *name, const char *text, int mode)
{
	char *path = in_directory(name);
	const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, mode);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		printf("%s: %s\n", name, error_name(errno));
	close(fd);
	return path;
}

static int wait_of(pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		printf("no child: %s\n", error_name(errno));
	return status;
}

/* A child executes this program with a case and its arguments; `prepare`, which may be null, runs in it before. */
static void run(const char *name, void (*prepare)(void), char *const arguments[], char *const environment[])
{
	const pid_t pid = fork();

	if (pid == 0) {
		if (prepare)
			prepare();
		execve(self, arguments, environment ? environment : environ);
		printf("%s: %s\n", name, error_name(errno));
		_exit(99);
	}
	say_status(name, wait_of(pid));
}

#define RUN(name, prepare, ...) run(name, prepare, (char *[]){ "exec", __VA_ARGS__, NULL }, NULL)

/* --- what is executed --- */

static int show(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *name = strrchr(argv[i], '/');
		printf("%d: %s\n", i, name ? name + 1 : argv[i]);
	}
	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "CASE", 4))
			printf("%s\n", *e);
	return argc;
}

static int show_descriptors(void)
{
	char byte = '?';

	for (int fd = FIRST_FD; fd < FIRST_FD + 6; fd++) {
		const int flags = fcntl(fd, F_GETFL);
		if (flags < 0)
			printf("%d: %s\n", fd, error_name(errno));
		else
			printf("%d: %d %d%s\n", fd, fcntl(fd, F_GETFD), flags & O_ACCMODE,
			       flags & O_APPEND ? " append" : flags & O_NONBLOCK ? " nonblock" : "");
	}
	for (int i = 0; i < 4; i++)
		if (read(FIRST_FD + (i & 1), &byte, 1) == 1)
			printf("%c\n", byte);
	printf("without a name: %d\n", pread(FIRST_FD + 2, &byte, 1, 2) == 1 ? byte : -1);
	return 0;
}

static int show_signals(void)
{
	static const int numbers[] = { SIGUSR1, SIGUSR2, SIGTERM, SIGHUP, SIGCHLD };
	sigset_t blocked, pending;
	struct sigaction action;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigpending(&pending);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaction(numbers[i], NULL, &action);
		const bool handled = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
		printf("signal %d:%s%s%s\n", numbers[i],
		       handled ? " handled" : action.sa_handler == SIG_IGN ? " ignored" : " default",
		       sigismember(&blocked, numbers[i]) ? " blocked" : "",
		       sigismember(&pending, numbers[i]) ? " pending" : "");
	}
	return 0;
}

static int show_zeroes(void)
{
	const unsigned char *memory = mmap(NULL, 2 * DIRTY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *block = calloc(1, DIRTY), *grown = sbrk(65536);
	size_t others = 0;

	for (size_t i = 0; i < 2 * DIRTY; i++)
		others += memory[i] != 0;
	for (size_t i = 0; i < DIRTY; i++)
		others += block[i] != 0;
	for (size_t i = 0; grown != (void *)-1 && i < 65536; i++)
		others += grown[i] != 0;
	printf("bytes that are not zero: %zu\n", others);
	free(block);
	return 0;
}

static int chain(char **argv)
{
	char number[16];
	const int left = atoi(argv[2]);

	if (!left)
		return 7;
	snprintf(number, sizeof(number), "%d", left - 1);
	memset(malloc(65536), 1, 65536);
	execl(argv[3], "exec", "chain", number, argv[3], NULL);
	return 98;
}

static int write_much(void)
{
	char *const text = malloc(TEXT);

	memset(text, 'x', TEXT);
	for (size_t done = 0; done < TEXT;) {
		const ssize_t n = write(1, text + done, TEXT - done);
		if (n <= 0)
			return 1;
		done += (size_t)n;
	}
	return 0;
}

/* As a shell: as much as the cases need. */
static int shell(const char *command)
{
	int number;

	if (sscanf(command, "exit %d", &number) == 1)
		return number;
	if (!strncmp(command, "echo ", 5))
		return puts(command + 5) < 0;
	if (!strcmp(command, "cat >&2")) {
		char text[100];
		ssize_t n = read(0, text, sizeof(text));
		return n > 0 ? write(2, text, (size_t)n) != n : 1;
	}
	return 127;
}

/* --- cases --- */

static void arguments(void)
{
	run("arguments", NULL, (char *[]){ "exec", "show", "a", "", "b c", NULL },
	    (char *[]){ "CASE=1", "OTHER=2", "CASES=3", NULL });
	run("no environment", NULL, (char *[]){ "exec", "show", NULL }, (char *[]){ NULL });
	char *const path = make_file("script", "", 0755);
	char text[5000];
	snprintf(text, sizeof(text), "#! %s \t show x y \nnothing\n", self);
	make_file("script", text, 0755);
	pid_t pid = fork();
	if (pid == 0)
		_exit((execl(path, "zero", "one", "two", NULL), errno));
	say_status("a script", wait_of(pid));
	snprintf(text, sizeof(text), "#!%s", path);
	char *const second = make_file("second", text, 0755);
	pid = fork();
	if (pid == 0)
		_exit((execl(second, "zero", "one", NULL), errno));
	say_status("a script of a script", wait_of(pid));
}

static void descriptors_before(void)
{
	int fds[2];
	const int fd = open(in_directory("data"), O_RDWR | O_APPEND),
	          gone = open(make_file("gone", "123", 0644), O_RDWR | O_CLOEXEC);

	unlink(in_directory("gone"));
	lseek(fd, 1, SEEK_SET);
	dup2(fd, FIRST_FD);
	dup2(fd, FIRST_FD + 1);
	dup2(gone, FIRST_FD + 2);
	dup3(fd, FIRST_FD + 3, O_CLOEXEC);
	fcntl(FIRST_FD + 2, F_SETFD, 0);
	if (pipe2(fds, O_NONBLOCK))
		_exit(1);
	dup2(fds[1], FIRST_FD + 4);
	fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD + 5);
}

static void handle(int number) { (void)number; _exit(55); }

static void signals_before(void)
{
	sigset_t set;

	signal(SIGUSR1, handle);
	signal(SIGHUP, handle);
	signal(SIGUSR2, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
	kill(getpid(), SIGHUP);
}

static void dirty_before(void)
{
	memset(mmap(NULL, DIRTY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 0xff, DIRTY);
	memset(malloc(DIRTY / 2), 0xff, DIRTY / 2);
	mprotect(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, PROT_NONE);
}

static void directory_before(void) { _exit(chdir(directory) ? 96 : (execl(self, "exec", "here", NULL), 97)); }

static void *spin(void *unused)
{
	for (;;)
		sched_yield();
	return unused;
}

static void *execute(void *unused)
{
	execl(self, "exec", "show", "by a thread", NULL);
	return unused;
}

static void threads_before(void)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, spin, NULL);
	pthread_create(&thread, NULL, execute, NULL);
	pthread_join(thread, NULL);
	_exit(97);
}

static void state(void)
{
	char pid[16];

	make_file("data", "abcdef", 0644); /* on Skerry what a child makes its parent does not see */
	RUN("descriptors", descriptors_before, "descriptors");
	RUN("signals", signals_before, "signals");
	RUN("memory", dirty_before, "zeroes");
	run("working directory", directory_before, NULL, NULL);
	RUN("threads", threads_before, "show");
	snprintf(pid, sizeof(pid), "%d", CHAIN);
	RUN("one after another", NULL, "chain", pid, self);
	snprintf(pid, sizeof(pid), "%d", getpid());
	RUN("parent", NULL, "parent", pid);
}

static void pipes(void)
{
	char buffer[4096];
	size_t total = 0;
	int out[2], in[2];
	ssize_t n;

	if (pipe(out) || pipe(in))
		return;
	const pid_t pid = fork();
	if (pid == 0) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execl(self, "exec", "write", NULL);
		_exit(97);
	}
	close(out[1]);
	while ((n = read(out[0], buffer, sizeof(buffer))) > 0)
		total += (size_t)n;
	printf("through a pipe: %zu\n", total);
	say_status("its writer", wait_of(pid));
	close(out[0]);

	/* the end comes by FD_CLOEXEC, not by the end of the process */
	if (pipe2(out, O_CLOEXEC))
		return;
	const pid_t other = fork();
	if (other == 0) {
		dup2(in[0], 0);
		close(in[1]);
		execl(self, "exec", "read", NULL);
		_exit(97);
	}
	close(out[1]);
	printf("closed by the exec: %zd\n", read(out[0], buffer, 1));
	if (write(in[1], "x", 1) != 1)
		puts("no byte");
	say_status("its reader", wait_of(other));
	close(in[0]);
	close(in[1]);
	close(out[0]);
}

static void fails(const char *name, const char *path, char *const arguments[])
{
	char *const none[] = { "exec", "show", NULL };

	execve(path, arguments ? arguments : none, environ);
	printf("%s: %s\n", name, error_name(errno));
}

static void loops(void)
{
	char text[5000], name[16], before[5000];

	snprintf(before, sizeof(before), "#!%s show", self);
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "loop-%d", i);
		char *const path = make_file(name, before, 0755);
		snprintf(text, sizeof(text), "scripts: %d", i + 1);
		const pid_t pid = fork();
		if (pid == 0) {
			execl(path, "zero", NULL);
			printf("%s: %s\n", text, error_name(errno));
			_exit(0);
		}
		say_status(text, wait_of(pid));
		snprintf(before, sizeof(before), "#!%s", path);
	}
}

static void errors(void)
{
	char *const long_name = calloc(1, 5000), *const text = calloc(1, LONG + 1);
	char **const many = calloc(MANY, sizeof(char *));

	memset(long_name, 'n', 4999);
	memset(text, 't', LONG);
	fails("no file", in_directory("nowhere"), NULL);
	fails("no directory", in_directory("data/it"), NULL);
	fails("a directory", directory, NULL);
	fails("nobody may execute it", make_file("plain", "#!/nowhere\n", 0644), NULL);
	fails("no interpreter", make_file("lost", "#!/nowhere\n", 0755), NULL);
	fails("an interpreter without a name", make_file("empty", "#!  \n", 0755), NULL);
	fails("a text", make_file("text", "echo hello\n", 0755), NULL);
	fails("nothing", make_file("nothing", "", 0755), NULL);
	fails("a short executable", make_file("short", "\177ELF\2\1\1", 0755), NULL);
	fails("a long name", long_name, NULL);
	fails("an empty name", "", NULL);
	fails("a long argument", self, (char *[]){ "exec", text, NULL });
	for (size_t i = 0; i + 1 < MANY; i++)
		many[i] = "an argument of thirty-two bytes";
	fails("many arguments", self, many);
	text[LONG - 1] = 0;
	RUN("an argument that is just short enough", NULL, "length", text);
	fails("not on the path", "exec-nowhere", NULL);
	loops();
}

static void spawns(void)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t set;
	pid_t pid;
	char text[100] = "";

	printf("spawn of no file: %s\n",
	       error_name(posix_spawn(&pid, in_directory("nowhere"), NULL, NULL, (char *[]){ "x", NULL }, environ)));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, in_directory("spawned"), O_CREAT | O_WRONLY, 0644);
	posix_spawn_file_actions_addclose(&actions, 2);
	posix_spawnattr_init(&attributes);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	posix_spawnattr_setsigmask(&attributes, &set);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	printf("spawn: %s\n", error_name(posix_spawn(&pid, self, &actions, &attributes,
	                                              (char *[]){ "exec", "spawned", NULL }, environ)));
	say_status("spawned", wait_of(pid));
	printf("system: %d\n", WEXITSTATUS(system("exit 3")));
	printf("system of no command: %d\n", system(NULL) != 0);
	FILE *f = popen("echo a pipe", "r");
	printf("popen: %s", f && fgets(text, sizeof(text), f) ? text : "nothing\n");
	printf("its end: %d\n", f ? pclose(f) : -1);
	f = popen("cat >&2", "w");
	if (f)
		fputs("to the other\n", f);
	say_status("its writer", f ? pclose(f) : -1);
}

static void others(void)
{
	char path[4096];
	int fds[2];

	pid_t pid = fork();
	if (pid == 0) {
		const int fd = open(self, O_RDONLY);
		fexecve(fd, (char *[]){ "exec", "show", "by descriptor", NULL }, environ);
		_exit(97);
	}
	say_status("fexecve", wait_of(pid));
	pid = fork();
	if (pid == 0) {
		snprintf(path, sizeof(path), "%s:%s", in_directory("nowhere"), directory);
		setenv("PATH", path, 1);
		execlp("script", "zero", "by path", NULL);
		_exit(97);
	}
	say_status("execvp", wait_of(pid));
	if (pipe(fds))
		return;
	pid = vfork();
	if (pid == 0) {
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
		_exit(write(fds[1], "child ", 6) != 6);
	}
	if (write(fds[1], "parent", 6) != 6)
		puts("no bytes");
	ssize_t n = read(fds[0], path, 12);
	printf("vfork: %.*s\n", (int)n, path);
	say_status("vfork", wait_of(pid));
	pid = vfork();
	if (pid == 0) {
		execl(self, "exec", "read-socket", NULL);
		_exit(97);
	}
	kill(pid, SIGTERM);
	say_status("vfork and exec", wait_of(pid));
	close(fds[0]);
	close(fds[1]);
}

static int cases(void)
{
	arguments();
	state();
	pipes();
	errors();
	spawns();
	others();
	char pid[16];
	snprintf(pid, sizeof(pid), "%d", getpid());
	execl(self, "exec", "same", pid, NULL);
	return 97;
}

static void full(char *path)
{
	pid_t child[100];
	int fds[2], count = 0;
	char byte;

	if (pipe(fds))
		return;
	while (count < 100 && (child[count] = fork()) > 0)
		count++;
	if (count < 100 && child[count] == 0) {
		close(fds[1]);
		(void)!read(fds[0], &byte, 1);
		execl(path, "exec", "chain", "10", path, NULL);
		_exit(97);
	}
	printf("then: %s\n", error_name(errno));
	close(fds[0]);
	close(fds[1]);
	for (int i = 0; i < count; i++)
		say_status("executes", wait_of(child[i]));
}

static int executed(int argc, char **argv)
{
	char byte;

	switch (argv[1][0]) {
	case 'c':
		return chain(argv);
	case 'd':
		return show_descriptors();
	case 'h':
		return access("data", F_OK) == 0 ? 5 : 6;
	case 'l':
		return (int)(strlen(argv[2]) / 1024);
	case 'p':
		return getppid() != atoi(argv[2]);
	case 'r':
		if (argv[1][4])
			for (;;)
				pause();
		return read(0, &byte, 1) == 1 ? byte : 1;
	case 'w':
		return write_much();
	case 'z':
		return show_zeroes();
	default:
		return show(argc, argv);
	}
}

int main(int argc, char **argv)
{
	sigset_t blocked;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "-c"))
		return shell(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "cases")) {
		self = argv[2];
		directory = argv[3];
		return cases();
	}
	if (argc > 2 && !strcmp(argv[1], "bad")) {
		for (int i = 2; i < argc; i++)
			fails(argv[i], argv[i], NULL);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "full")) {
		for (int i = atoi(argv[3]); i > 0; i--)
			full(argv[2]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "same")) {
		printf("the same process: %d\n", getpid() == atoi(argv[2]));
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "signals"))
		return show_signals();
	if (argc == 2 && !strcmp(argv[1], "spawned")) {
		sigprocmask(SIG_BLOCK, NULL, &blocked);
		return 10 * sigismember(&blocked, SIGUSR2) + (fcntl(2, F_GETFD) < 0);
	}
	return argc > 1 ? executed(argc, argv) : 96;
}
