# SPDX-License-Identifier: BSD-2-Clause
"""`python -m deploy.base.rtm_probe COUNT` begins COUNT empty hardware transactions and prints how many committed.

Only for a child process: where XBEGIN does not exist, it raises SIGILL. No compiler is needed.
"""

import ctypes
import mmap
import sys

# int committed(int count)
CODE = bytes.fromhex(
    "89f9"          # mov    ecx, edi
    "31d2"          # xor    edx, edx
    "b8ffffffff"    # again: mov eax, -1
    "c7f800000000"  # xbegin next       (an abort continues there with its status in eax)
    "83f8ff"        # next:  cmp eax, -1
    "7505"          # jne    aborted
    "0f01d5"        # xend
    "ffc2"          # inc    edx
    "ffc9"          # aborted: dec ecx
    "75e7"          # jnz    again
    "89d0"          # mov    eax, edx
    "c3"            # ret
)


def committed(count: int) -> int:
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(CODE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return int(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(address)(count))


if __name__ == "__main__":
    print(committed(int(sys.argv[1])))
