// SPDX-License-Identifier: Apache-2.0
// Every limit of the plugin, with its unit, its reason, and the effect of exceeding it. The limits of the first block
// are part of the protocol (docs/reference/protocol.md; a test compares them), those of the second concern only the
// plugin.
#ifndef REPRISE_LIMITS_H
#define REPRISE_LIMITS_H

#define PROTOCOL_VERSION 1

#define REQUEST_MAX 262144      // bytes of JSON; a longer request is sent without its script, or not at all
#define REPLY_MAX 65536         // bytes of JSON; a longer reply is not read and counts as no reply
#define CARRY_MAX 65536         // bytes of SLURM_SPANK_REPRISE (the kernel allows 131,072); a longer one is not carried
#define SCRIPT_MAX 131072       // bytes of script text; a longer script is cut and marked `truncated`
#define VARIABLES_MAX 64        // variables in a decision; if there are more, none is set
#define VARIABLE_NAME_MAX 128   // bytes; if a name is longer, no variable is set
#define VARIABLE_VALUE_MAX 4096 // bytes; if a value is longer, no variable is set
#define DECISION_ID_MAX 64      // characters of a decision's id
#define CLUSTER_NAME_MAX 64     // characters; a longer name of a cluster is not sent (Slurm allows at most 40)
#define REASON_MAX 512          // bytes of a decision's reason
#define PROGRAM_PATH_MAX 4095   // bytes of a program's path; a program with a longer path is not identified
#define NONCE_SIZE 16           // random bytes that a reply must repeat; enough that nobody can guess them
// A credential is base64 (4/3 of the payload) with a header and padding, so twice the payload is enough; no more is
// read.
#define REPLY_CREDENTIAL_MAX (2 * REPLY_MAX)
#define REQUEST_CREDENTIAL_MAX (2 * REQUEST_MAX)

#define DEADLINE_MS_DEFAULT 100 // longest wait for a daemon that hangs; a healthy daemon answers in less than 10 ms
#define DEADLINE_MS_MAX 1000    // people notice longer waits; a higher setting is refused
#define ENDPOINTS_MAX 4         // endpoints share the deadline; with more, none would have enough time to answer
#define HOST_MAX 253            // characters of a DNS name
#define ENDPOINT_MAX 265        // characters: tcp:, the longest host name, and the port
#define RETRY_CONNECT_MS 1      // pause while the daemon's backlog is full, because poll(2) cannot wait for room in it
#define REPLY_DEPTH_MAX 16      // levels of nested arrays and objects; bounds the parser's memory and recursion
#define PARSE_MEMORY 320        // bytes that json-c may need per byte it reads (264 measured, for `{},` in an array)
#define COMMAND_LINE_MAX 65536  // bytes of argv that are read; the rest is left out (only --wrap texts are that long)
#define ENVIRONMENT_MAX 32768   // bytes of SLURM_*, SBATCH_* and SALLOC_* variables sent; further ones are left out
#define PRELOAD_NAME_MAX 64     // characters of a library's name; a library with a longer name counts as missing
#define IDENTIFY_MS 20          // longest time to read a job's program (usually 1 to 5 ms); beyond it, nothing is sent
#define REAP_MS 20              // wait for a child's end, before it is killed and again after; then it is abandoned
#define PROFILE_MS 500          // longest time that a job waits for its profile's directory; then there is no profile
#define SET_NAMES_MAX 16384     // bytes of names of set variables sent; further ones are left out

#endif
