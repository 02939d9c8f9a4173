// SPDX-License-Identifier: Apache-2.0
// Every limit of the plugin: its unit, its reason, what happens beyond it. The first block is the protocol's
// (docs/protocol.md; a test compares them), the second is ours.
#ifndef REPRISE_LIMITS_H
#define REPRISE_LIMITS_H

#define PROTOCOL_VERSION 1

#define REQUEST_MAX 262144      // bytes of JSON; a longer request goes without its script, else it is not sent
#define REPLY_MAX 65536         // bytes of JSON; a longer reply counts as none, and is not read
#define CARRY_MAX 65536         // bytes of SLURM_SPANK_REPRISE (the kernel allows 131,072 a string); else not carried
#define SCRIPT_MAX 131072       // bytes of script text; cut there, and marked `truncated`
#define VARIABLES_MAX 64        // variables in a decision; more: none is set
#define VARIABLE_NAME_MAX 128   // bytes; a longer name: none is set
#define VARIABLE_VALUE_MAX 4096 // bytes; a longer value: none is set
#define DECISION_ID_MAX 64      // characters
#define CLUSTER_NAME_MAX 64     // characters; Slurm has 40 at most. A longer name is not told
#define REASON_MAX 512          // bytes
#define PROGRAM_PATH_MAX 4095   // bytes of the path that a job is asked about; a longer one: no answer
#define NONCE_SIZE 16           // bytes, random: nobody can guess what a reply will have to repeat
// A credential is base64 (4/3) with a header and padding: twice what is in it is enough, and what is read at most.
#define REPLY_CREDENTIAL_MAX (2 * REPLY_MAX)

#define DEADLINE_MS_DEFAULT 100 // a healthy daemon answers in less than 10 ms; what a user waits at most for a dead one
#define DEADLINE_MS_MAX 1000    // longer than this a person notices; a higher setting is refused
#define ENDPOINTS_MAX 4         // each gets an even share of the deadline: with more, none would have time to answer
#define HOST_MAX 253            // characters of a name in the DNS
#define ENDPOINT_MAX 265        // characters: tcp:, the longest name and its port
#define RETRY_CONNECT_MS 1      // pause while the daemon's backlog is full: poll(2) cannot wait for a place in it
#define REPLY_DEPTH_MAX 16      // nested arrays and objects; bounds the parser's memory and recursion
#define PARSE_MEMORY 320        // bytes that json-c may take for a byte it reads (264 seen, for `{},` in an array)
#define COMMAND_LINE_MAX 65536  // bytes of argv that are read; the rest is left out (only --wrap texts get so long)
#define ENVIRONMENT_MAX 32768   // bytes of SLURM_*, SBATCH_* and SALLOC_* variables sent; those beyond are left out
#define PRELOAD_NAME_MAX 64     // characters of a library's name; a longer one: it is taken for missing
#define IDENTIFY_MS 20          // that a job waits for its program to be read; later: no answer. Most take 1 to 5 ms
#define REAP_MS 20              // that a child has to end before it is killed, and after; what still has not is left
#define PROFILE_MS 500          // that a job which is to be profiled waits for its directory; later: no profile
#define SET_NAMES_MAX 16384     // bytes of names of set variables sent; those beyond are left out

#endif
