# SPDX-License-Identifier: Apache-2.0
# Flags to compile and link every program that uses these sources. GNU make includes this file.

VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' $(dir $(lastword $(MAKEFILE_LIST)))../reprise/__init__.py)
JSON_CPPFLAGS ?= $(shell pkg-config --cflags json-c)
JSON_LIBS ?= $(shell pkg-config --libs json-c)
# libdl is part of libc since glibc 2.34. libmunge is not linked: credential_munge.c loads it if it is needed.
LIBS := $(JSON_LIBS) -ldl

# Some compilers define _FORTIFY_SOURCE by default and warn about a second definition.
override CPPFLAGS += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -D_POSIX_C_SOURCE=200809L -DREPRISE_VERSION='"$(VERSION)"' \
                     $(JSON_CPPFLAGS)
override CFLAGS := -std=c11 -O2 -g -fstack-protector-strong -Wall -Wextra -Wshadow -Wconversion -Werror $(CFLAGS)
override LDFLAGS += -Wl,-z,relro,-z,now
