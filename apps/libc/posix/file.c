/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading and writing through descriptors. Files never block; here is where a
 * blocking descriptor's thread waits until they can.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include "layer.h"
#include "volume.h"

/* A file's offset stays as it is for other processes while a transfer uses one of its own. */
#ifdef LAYER_FAMILY
static void offset_apart(struct file *file, bool apart) { volume_apart(file, apart); }
#else
static void offset_apart(struct file *file, bool apart) { (void)file, (void)apart; }
#endif

int file_wait(struct file *file, uint32_t events, uint64_t deadline)
{
	require(events && file->references);
	events |= EPOLLERR | EPOLLHUP;
	while (!(file->ready & events)) {
		int error = event_sleep(deadline);
		if (error)
			return error;
	}
	return 0;
}

bool file_again(struct file *file, uint32_t events, uint64_t deadline, ssize_t *result)
{
	if (*result != -EAGAIN)
		return false;
	int error = file_wait(file, events, deadline);
	if (error)
		*result = error;
	return !error;
}

static ssize_t read_once(struct file *file, const struct iovec *iov, int count)
{
	ssize_t total = 0;

	if (!file->ops->read)
		return -EINVAL;
	for (int i = 0; i < count; i++) {
		if (!iov[i].iov_len)
			continue;
		ssize_t n = file->ops->read(file, iov[i].iov_base, iov[i].iov_len);
		if (n < 0)
			return total ? total : n;
		require((size_t)n <= iov[i].iov_len);
		total += n;
		if ((size_t)n < iov[i].iov_len)
			break;
	}
	return total;
}

/* From `skip` bytes into the vector on. */
static ssize_t write_once(struct file *file, const struct iovec *iov, int count, size_t skip)
{
	ssize_t total = 0;

	if (!skip && file->ops->writev)
		return file->ops->writev(file, iov, count);
	if (!file->ops->write)
		return -EINVAL;
	for (int i = 0; i < count; i++) {
		if (skip >= iov[i].iov_len) {
			skip -= iov[i].iov_len;
			continue;
		}
		size_t size = iov[i].iov_len - skip;
		ssize_t n = file->ops->write(file, (const char *)iov[i].iov_base + skip, size);
		skip = 0;
		if (n < 0)
			return total ? total : n;
		require((size_t)n <= size);
		total += n;
		if ((size_t)n < size)
			break;
	}
	return total;
}

static ssize_t vector_size(const struct iovec *iov, int count)
{
	size_t total = 0;

	if (count < 0 || count > IOV_MAX)
		return -EINVAL;
	for (int i = 0; i < count; i++)
		if (iov[i].iov_len > SSIZE_MAX - total)
			return -EINVAL;
		else
			total += iov[i].iov_len;
	return (ssize_t)total;
}

ssize_t file_readv(struct file *file, const struct iovec *iov, int count, bool dont_wait)
{
	ssize_t result = vector_size(iov, count);

	if (result <= 0)
		return result;
	if ((file->flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	result = read_once(file, iov, count);
	if (result != -EAGAIN)
		return result;
	/* a program that polls by reading must make the network progress, too */
	if (dont_wait || file->flags & O_NONBLOCK)
		return event_poll() ? read_once(file, iov, count) : -EAGAIN;

	uint64_t deadline = file->receive_timeout ? deadline_after(file->receive_timeout) : 0;
	file_hold(file);
	while (file_again(file, EPOLLIN | EPOLLRDHUP, deadline, &result))
		result = read_once(file, iov, count);
	file_put(file);
	return result;
}

ssize_t file_writev(struct file *file, const struct iovec *iov, int count, bool dont_wait)
{
	ssize_t size = vector_size(iov, count);

	if (size < 0)
		return size;
	if ((file->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	ssize_t result = write_once(file, iov, count, 0);
	if (result == size || (result < 0 && result != -EAGAIN) || dont_wait || file->flags & O_NONBLOCK ||
	    (result > 0 && file->ops->write_most))
		return result;

	uint64_t deadline = file->send_timeout ? deadline_after(file->send_timeout) : 0;
	size_t done = result > 0 ? (size_t)result : 0;
	file_hold(file);
	result = -EAGAIN;
	while (done < (size_t)size && file_again(file, EPOLLOUT, deadline, &result)) {
		result = write_once(file, iov, count, done);
		if (result > 0) {
			done += (size_t)result;
			result = -EAGAIN;
			if (file->ops->write_most)
				break;
		}
	}
	require(done <= (size_t)size);
	file_put(file);
	return done ? (ssize_t)done : result;
}

long sys_readv(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	return file ? file_readv(file, (const struct iovec *)a[1], (int)a[2], false) : -EBADF;
}

long sys_writev(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	return file ? file_writev(file, (const struct iovec *)a[1], (int)a[2], false) : -EBADF;
}

long sys_read(const long *a)
{
	struct iovec iov = { (void *)a[1], (size_t)a[2] };

	return sys_readv((const long[]){ a[0], (long)&iov, 1 });
}

long sys_write(const long *a)
{
	struct iovec iov = { (void *)a[1], (size_t)a[2] };

	return sys_writev((const long[]){ a[0], (long)&iov, 1 });
}

/* At an offset: the layer's lock makes seek, transfer and seek back one step. */
static long at_offset(const long *a, long (*transfer)(const long *))
{
	struct file *file = descriptor_file((int)a[0]);

	if (!file)
		return -EBADF;
	if (!file->ops->seek)
		return -ESPIPE;
	offset_apart(file, true);
	off_t before = file->ops->seek(file, 0, SEEK_CUR);
	long result = file->ops->seek(file, a[3], SEEK_SET);
	if (result >= 0) {
		result = transfer(a);
		file->ops->seek(file, before, SEEK_SET);
	}
	offset_apart(file, false);
	return result;
}

long sys_pread64(const long *a) { return at_offset(a, sys_read); }
long sys_pwrite64(const long *a) { return at_offset(a, sys_write); }
long sys_preadv(const long *a) { return at_offset(a, sys_readv); }
long sys_pwritev(const long *a) { return at_offset(a, sys_writev); }

/* Both files are held: writing may sleep. */
static ssize_t send_from(struct file *out, struct file *in, off_t at, size_t count)
{
	char piece[8192];
	size_t done = 0;

	while (done < count) {
		const size_t size = count - done < sizeof(piece) ? count - done : sizeof(piece);
		offset_apart(in, true);
		const off_t before = in->ops->seek(in, 0, SEEK_CUR);

		in->ops->seek(in, at + (off_t)done, SEEK_SET);
		ssize_t n = in->ops->read(in, piece, size);
		in->ops->seek(in, before, SEEK_SET);
		offset_apart(in, false);
		if (n > 0)
			n = file_writev(out, &(struct iovec){ piece, (size_t)n }, 1, false);
		if (n <= 0)
			return done ? (ssize_t)done : n;
		done += (size_t)n;
		if ((size_t)n < size)
			break;
	}
	return (ssize_t)done;
}

/* From a file that has offsets to any other. */
long sys_sendfile(const long *a)
{
	struct file *out = descriptor_file((int)a[0]), *in = descriptor_file((int)a[1]);
	off_t *offset = (off_t *)a[2];

	if (!out || !in || (in->flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	if (!in->ops->seek || !in->ops->read || (offset && *offset < 0))
		return -EINVAL;
	const off_t at = offset ? *offset : in->ops->seek(in, 0, SEEK_CUR);
	file_hold(out);
	file_hold(in);
	const ssize_t sent = send_from(out, in, at, (size_t)a[3]);
	if (sent > 0 && offset)
		*offset = at + sent;
	else if (sent > 0)
		in->ops->seek(in, at + sent, SEEK_SET);
	file_put(in);
	file_put(out);
	return sent;
}

long sys_lseek(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	if (!file)
		return -EBADF;
	return file->ops->seek ? file->ops->seek(file, a[1], (int)a[2]) : -ESPIPE;
}

long sys_ioctl(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	if (!file)
		return -EBADF;
	if (a[1] == FIONBIO) {
		file->flags = *(int *)a[2] ? file->flags | O_NONBLOCK : file->flags & ~(uint32_t)O_NONBLOCK;
		return 0;
	}
	if (file->ops->ioctl)
		return file->ops->ioctl(file, (unsigned long)a[1], (void *)a[2]);
	return file->ops->recvmsg ? socket_ioctl(file, (unsigned long)a[1], (void *)a[2]) : -ENOTTY;
}
