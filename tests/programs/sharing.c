/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of a folder that several processes have, by POSIX alone: offsets, O_APPEND and locks, and what a process leaves
 * that is killed. The same source runs on Linux. It works in the folder that is its argument.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MEMBERS = 3, LINES = 60, LINE = 40, KILLS = 8, FILES = 240, WRITES = 100 };

static const char *result(int value) { return value ? strerror(errno) : "done"; }

static void say(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	printf("\n");
	fflush(stdout);
}

static pid_t start(void (*run)(int), int argument)
{
	fflush(stdout);
	const pid_t pid = fork();

	if (pid == 0) {
		run(argument);
		exit(0);
	}
	if (pid < 0)
		say("fork: %s", strerror(errno));
	return pid;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static long offset(int fd) { return (long)lseek(fd, 0, SEEK_CUR); }

static int fresh(const char *name, const char *bytes)
{
	const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, bytes, strlen(bytes)) != (ssize_t)strlen(bytes) || lseek(fd, 0, SEEK_SET))
		say("wrong: %s: %s", name, strerror(errno));
	return fd;
}

static const char *text_of(const char *name)
{
	static char text[4096];
	const int fd = open(name, O_RDONLY);
	const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[size < 0 ? 0 : size] = 0;
	close(fd);
	return text;
}

/* A line each way between parent and child, so that both go on in an order that is the same each time. */
static int there[2], back[2];

static void channels(void)
{
	if (pipe(there) || pipe(back))
		say("wrong: pipe: %s", strerror(errno));
}

static void channels_close(void)
{
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

static void tell(const int *channel)
{
	if (write(channel[1], "x", 1) != 1)
		say("wrong: tell: %s", strerror(errno));
}

static void hear(const int *channel)
{
	char byte;

	while (read(channel[0], &byte, 1) < 0 && errno == EINTR)
		;
}

/* --- offsets --- */

static void read_three(int fd)
{
	char bytes[4] = "";

	read(fd, bytes, 3);
	say("a child reads %s, its offset is %ld", bytes, offset(fd));
	pread(fd, bytes, 3, 7);
	say("and at 7 %s", bytes);
	write(fd, "DEF", 3);
	pwrite(fd, "X", 1, 9);
	close(fd);
}

static void append(int fd) { write(fd, "+", 1); }

static void offsets(void)
{
	char byte[2] = "";
	const int fd = fresh("offsets", "abcdefghij");

	wait_for(start(read_three, fd));
	say("the parent's offset is %ld, the file %s", offset(fd), text_of("offsets"));
	read(fd, byte, 1);
	say("the parent reads %s", byte);
	lseek(fd, 2, SEEK_SET);
	fcntl(fd, F_SETFL, O_APPEND);
	wait_for(start(append, fd));
	say("a child appends: %s, the offset is %ld, O_APPEND %d", text_of("offsets"), offset(fd),
	    !!(fcntl(fd, F_GETFL) & O_APPEND));
	const int other = dup(fd);
	close(fd);
	say("the duplicate's offset is %ld", offset(other));
	close(other);
}

static void append_lines(int number)
{
	char line[LINE + 1];
	const int fd = open("log", O_WRONLY | O_APPEND | O_CREAT, 0644);

	for (int i = 0; i < LINES; i++) {
		snprintf(line, sizeof(line), "%d %-*d\n", number, LINE - 3, i);
		if (write(fd, line, LINE) != LINE)
			say("wrong: append: %s", strerror(errno));
	}
	close(fd);
}

/* Each line is whole, and each process's are in order. */
static void appends(void)
{
	int next[MEMBERS + 1] = { 0 }, number, line, wrong = 0;
	pid_t pid[MEMBERS];

	for (int i = 0; i < MEMBERS; i++)
		pid[i] = start(append_lines, i);
	append_lines(MEMBERS);
	for (int i = 0; i < MEMBERS; i++)
		wait_for(pid[i]);
	FILE *file = fopen("log", "r");
	while (file && fscanf(file, "%d %d", &number, &line) == 2)
		if (number < 0 || number > MEMBERS || line != next[number]++)
			wrong++;
	if (file)
		fclose(file);
	struct stat st;
	stat("log", &st);
	say("appended: %d %d %d %d lines, %d wrong, %ld bytes", next[0], next[1], next[2], next[3], wrong,
	    (long)st.st_size);
}

/* --- locks --- */

static int set(int fd, int command, int type, long first, long length)
{
	struct flock lock = { .l_type = (short)type, .l_whence = SEEK_SET, .l_start = first, .l_len = length };

	return fcntl(fd, command, &lock);
}

static void show(int fd, const char *what, int type, long first, long length, pid_t holder)
{
	struct flock lock = { .l_type = (short)type, .l_whence = SEEK_SET, .l_start = first, .l_len = length };

	if (fcntl(fd, F_GETLK, &lock))
		say("%s: %s", what, strerror(errno));
	else if (lock.l_type == F_UNLCK)
		say("%s: free", what);
	else
		say("%s: %s from %ld, %ld bytes, by %s", what, lock.l_type == F_WRLCK ? "written" : "read",
		    (long)lock.l_start, (long)lock.l_len, lock.l_pid == holder ? "the child" : "another");
}

static void hold_ranges(int fd)
{
	say("the child locks: %s", result(set(fd, F_SETLK, F_WRLCK, 10, 20)));
	say("and unlocks within: %s", result(set(fd, F_SETLK, F_UNLCK, 15, 5)));
	say("and for reading: %s", result(set(fd, F_SETLK, F_RDLCK, 100, 0)));
	tell(back);
	hear(there);
	close(open("locked", O_RDONLY)); /* which drops all locks of the file */
	tell(back);
	hear(there);
	set(fd, F_SETLK, F_WRLCK, 0, 5);
	tell(back);
	usleep(50000);
}

static void try_range(int fd)
{
	say("a child of the holder: %s", result(set(fd, F_SETLK, F_WRLCK, 40, 1)));
	show(fd, "its parent's", F_RDLCK, 40, 1, getppid());
}

static void ranges(void)
{
	const int fd = fresh("locked", "");

	channels();
	const pid_t pid = start(hold_ranges, fd);
	hear(back);
	show(fd, "at 0", F_WRLCK, 0, 10, pid);
	show(fd, "from 0", F_RDLCK, 0, 0, pid);
	show(fd, "at 15", F_WRLCK, 15, 5, pid);
	show(fd, "at 20", F_WRLCK, 20, 1, pid);
	show(fd, "at 1000", F_WRLCK, 1000, 1, pid);
	show(fd, "at 1000 for reading", F_RDLCK, 1000, 1, pid);
	say("locked: %s", result(set(fd, F_SETLK, F_WRLCK, 29, 1)));
	say("locked: %s", result(set(fd, F_SETLK, F_RDLCK, 14, 1)));
	say("free: %s", result(set(fd, F_SETLK, F_WRLCK, 15, 5)));
	say("for reading: %s", result(set(fd, F_SETLK, F_RDLCK, 100, 10)));
	tell(there);
	hear(back);
	say("after a close: %s", result(set(fd, F_SETLK, F_WRLCK, 0, 0)));
	set(fd, F_SETLK, F_UNLCK, 0, 0);
	tell(there);
	hear(back);
	say("waits for its end: %s", result(set(fd, F_SETLKW, F_WRLCK, 0, 0)));
	set(fd, F_SETLK, F_UNLCK, 0, 0);
	set(fd, F_SETLK, F_WRLCK, 40, 10);
	wait_for(pid);
	wait_for(start(try_range, fd));
	set(fd, F_SETLK, F_UNLCK, 0, 20);
	set(fd, F_SETLK, F_WRLCK, 20, 20);
	set(fd, F_SETLK, F_RDLCK, 30, 15);
	channels_close();
	const int reader = open("locked", O_RDONLY);
	say("no such kind: %s", result(set(fd, F_SETLK, 7, 0, 0)));
	say("not for writing: %s", result(set(reader, F_SETLK, F_WRLCK, 0, 1)));
	say("before the file: %s", result(set(fd, F_SETLK, F_WRLCK, -1, 1)));
	close(reader);
	close(fd);
}

static void hold_file(int fd)
{
	const int own = open("flocked", O_RDONLY);

	say("the child's own: %s", result(flock(own, LOCK_EX | LOCK_NB)));
	flock(fd, LOCK_UN); /* its parent's, too */
	say("after that: %s", result(flock(own, LOCK_EX | LOCK_NB)));
	tell(back);
	pause();
}

static void kill_later(int pid)
{
	usleep(50000);
	kill(pid, SIGKILL);
}

static void files(void)
{
	const int fd = fresh("flocked", "");
	const int second = open("flocked", O_RDONLY);

	say("shared: %s", result(flock(fd, LOCK_SH)));
	say("shared again: %s", result(flock(second, LOCK_SH | LOCK_NB)));
	say("exclusive beside it: %s", result(flock(fd, LOCK_EX | LOCK_NB)));
	close(second);
	say("alone: %s", result(flock(fd, LOCK_EX | LOCK_NB)));
	say("no such kind: %s", result(flock(fd, 16)));
	channels();
	const pid_t pid = start(hold_file, fd);
	hear(back);
	say("the child has it: %s", result(flock(fd, LOCK_SH | LOCK_NB)));
	const pid_t killer = start(kill_later, pid);
	say("waits for a process that is killed: %s", result(flock(fd, LOCK_SH)));
	wait_for(pid);
	wait_for(killer);
	close(fd);
	channels_close();
}

static void nothing(int number) { (void)number; }

static void hold_until_told(int fd)
{
	set(fd, F_SETLK, F_WRLCK, 0, 0);
	tell(back);
	hear(there);
}

static void interrupt(int parent)
{
	usleep(50000);
	kill(parent, SIGUSR1);
}

static void interrupted(void)
{
	struct sigaction action = { .sa_handler = nothing };
	const int fd = fresh("interrupted", "");

	sigaction(SIGUSR1, &action, 0);
	channels();
	const pid_t holder = start(hold_until_told, fd);
	hear(back);
	const pid_t sender = start(interrupt, getpid());
	say("interrupted: %s", result(set(fd, F_SETLKW, F_WRLCK, 0, 1)));
	tell(there);
	wait_for(holder);
	wait_for(sender);
	close(fd);
	channels_close();
}

/* --- turns --- */

static void write_always(int fd)
{
	for (;;)
		write(fd, "x", 1);
}

/* A process that asks all the time does not keep others from it: the test compares what each has written. */
static void turns(void)
{
	const int busy = fresh("busy", ""), fd = fresh("beside", "");
	const pid_t pid = start(write_always, busy);
	int written = 0;

	for (int i = 0; i < WRITES; i++)
		written += write(fd, "x", 1) == 1;
	kill(pid, SIGKILL);
	wait_for(pid);
	close(fd);
	close(busy);
	say("beside a process that writes all the time: %d writes", written);
}

/* --- kills --- */

/* Uses the folder without end: it is killed in the middle of a request, at some time. */
static void work(int number)
{
	char name[20], bytes[3000];

	memset(bytes, 'w', sizeof(bytes));
	for (int i = 0;; i++) {
		snprintf(name, sizeof(name), "work%d.%d", number, i % 5);
		const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0644);
		flock(fd, LOCK_EX);
		set(fd, F_SETLK, F_WRLCK, 0, 0);
		write(fd, bytes, sizeof(bytes));
		pread(fd, bytes, sizeof(bytes), 0);
		if (i % 16)
			close(fd); /* one in so many stays open until its end */
		if (i == 200)
			pause();
	}
}

static void kills(void)
{
	int fd[FILES], opened = 0, locked = 0;
	pid_t pid[MEMBERS];
	char name[20];

	for (int i = 0; i < KILLS; i++) {
		for (int k = 0; k < MEMBERS; k++)
			pid[k] = start(work, k);
		usleep(30000 + i * 3700);
		for (int k = 0; k < MEMBERS; k++)
			kill(pid[k], SIGKILL);
		for (int k = 0; k < MEMBERS; k++)
			wait_for(pid[k]);
	}
	for (int i = 0; i < MEMBERS; i++) {
		snprintf(name, sizeof(name), "work%d.0", i);
		const int one = open(name, O_RDWR | O_CREAT, 0644);
		locked += !flock(one, LOCK_EX | LOCK_NB) && !set(one, F_SETLK, F_WRLCK, 0, 0);
		close(one);
	}
	for (int i = 0; i < FILES; i++)
		opened += (fd[i] = open("log", O_RDONLY)) >= 0;
	for (int i = 0; i < FILES; i++)
		close(fd[i]);
	say("killed at work: %d files are free, %d can be opened", locked, opened);
}

int main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1])) {
		fprintf(stderr, "usage: sharing FOLDER\n");
		return 2;
	}
	offsets();
	appends();
	ranges();
	files();
	interrupted();
	turns();
	kills();
	return 0;
}
