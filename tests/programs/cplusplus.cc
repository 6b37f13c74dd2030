// SPDX-License-Identifier: BSD-2-Clause
// What C++'s library needs of the system: exceptions, also from other threads, threads, thread_local, streams, files,
// static constructors and destructors. Prints one line for each part that is wrong, and a last one.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <regex>
#include <sched.h>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

int wrong = 0, constructed = 0;

void check(const char *what, bool right)
{
	if (!right) {
		std::cout << "cplusplus: wrong: " << what << '\n';
		wrong++;
	}
}

struct Global {
	Global() { constructed++; }
	~Global() { std::cout << "cplusplus: destroyed" << std::endl; }
} global;

thread_local std::string own = "nobody";

struct Counter {
	int &count;
	~Counter() { count++; }
};

[[gnu::noinline]] void deep(int depth, int &unwound)
{
	Counter counter{unwound};
	if (depth == 0)
		throw std::runtime_error("deep");
	deep(depth - 1, unwound);
}

void exceptions()
{
	int unwound = 0, caught = 0;
	try {
		deep(20, unwound);
	} catch (const std::exception &error) {
		caught += error.what() == std::string("deep");
	}
	try {
		std::vector<int>(3).at(5);
	} catch (const std::out_of_range &) {
		caught++;
	}
	try {
		std::vector<char>(static_cast<size_t>(1) << 40);
	} catch (const std::bad_alloc &) {
		caught++;
	}
	try {
		try {
			throw 1;
		} catch (int) {
			std::throw_with_nested(std::logic_error("outer"));
		}
	} catch (const std::logic_error &error) {
		try {
			std::rethrow_if_nested(error);
		} catch (int) {
			caught++;
		}
	}
	auto far = std::async(std::launch::async, []() -> int { throw std::logic_error("far"); });
	try {
		far.get();
	} catch (const std::logic_error &) {
		caught++;
	}
	check("unwinding", unwound == 21);
	check("exceptions", caught == 5);
}

void threads()
{
	enum { THREADS = 8, TURNS = 200 };
	std::mutex mutex;
	std::condition_variable all_here;
	std::map<std::string, int> seen;
	std::set<int> cores;
	int here = 0;
	std::vector<std::thread> team;
	for (int i = 0; i < THREADS; i++)
		team.emplace_back([&, i] {
			own = "thread " + std::to_string(i);
			{
				std::unique_lock lock(mutex);
				cores.insert(sched_getcpu());
				if (++here == THREADS)
					all_here.notify_all();
				all_here.wait(lock, [&] { return here == THREADS; });
			}
			for (int turn = 0; turn < TURNS; turn++)
				try {
					throw turn;
				} catch (int number) {
					std::lock_guard lock(mutex);
					seen[own] += number == turn;
				}
		});
	for (auto &thread : team)
		thread.join();
	bool each = seen.size() == THREADS && own == "nobody";
	for (const auto &[name, times] : seen)
		each &= times == TURNS;
	check("exceptions of threads, thread_local", each);
	std::cout << "cplusplus: threads were on " << cores.size() << " cores\n";
}

void library()
{
	std::ostringstream text;
	text << 3.25 << ' ' << std::hex << 255 << ' ' << std::boolalpha << true;
	check("formatted output", text.str() == "3.25 ff true");
	{
		std::ofstream("/tmp/cplusplus.txt") << "skerry 42\n";
	}
	std::ifstream file("/tmp/cplusplus.txt");
	std::string word;
	int number = 0;
	file >> word >> number;
	check("files", word == "skerry" && number == 42 && std::filesystem::file_size("/tmp/cplusplus.txt") == 10);
	check("regular expressions", std::regex_match("skerry-12", std::regex("[a-z]+-\\d+")));
	auto start = std::chrono::steady_clock::now();
	std::this_thread::sleep_for(std::chrono::milliseconds(5));
	check("sleep", std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(5));
}

} // namespace

int main()
{
	check("static constructors", constructed == 1);
	exceptions();
	threads();
	library();
	if (!wrong)
		std::cout << "cplusplus: all right\n";
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
