// SPDX-License-Identifier: Apache-2.0
// Numbers of the types of messages of 9P2000.L, for the client and the forwarder. The reply to a request has the next
// number.
#ifndef FORWARD_NINE_H
#define FORWARD_NINE_H

#define NINE_VERSION "9P2000.L"

// A client that asks for its job's burst buffer begins with a Tversion whose version is
//
//   9P2000.L.burst JOB USER [drain] [NAME=VALUE ...] [proof=CREDENTIAL]
//
// JOB and USER are decimal numbers. The names are options of the forwarder that a job may choose. The reply's version
// is BURST_VERSION, and the conversation is 9P2000.L. With `drain`, the reply comes once all data that the job wrote
// are in the file system. The credential is one of munge that contains the version before " proof=", so that it fits
// no other request. A server without burst buffers answers "unknown", as 9P demands, or with an error, as diod does. A
// client that already has a burst buffer may send such a message again, without a proof.
#define BURST_VERSION "9P2000.L.burst"
#define BURST_PROOF "proof="

// Lengths of this version, with a 0: before the proof, and of a credential. munge encodes 511 bytes in 827.
#define BURST_BYTES 512
#define BURST_CREDENTIAL_BYTES 1024

enum nine_type {
    RLERROR = 7, // ecode[4]
    TSTATFS = 8,
    TLOPEN = 12, // fid[4] flags[4]
    RLOPEN = 13, // qid[13] iounit[4]
    TLCREATE = 14,
    TSYMLINK = 16,
    TMKNOD = 18,
    TRENAME = 20,
    TREADLINK = 22,
    TGETATTR = 24, // fid[4] request_mask[8]
    RGETATTR = 25, // valid[8] qid[13] mode[4] uid[4] gid[4] nlink[8] rdev[8] size[8] ...
    TSETATTR = 26, // fid[4] valid[4] mode[4] uid[4] gid[4] size[8] atime[8] atime_ns[8] mtime[8] mtime_ns[8]
    RSETATTR = 27,
    TXATTRWALK = 30,
    TXATTRCREATE = 32,
    TREADDIR = 40,
    TFSYNC = 50, // fid[4] datasync[4]
    RFSYNC = 51,
    TLOCK = 52,
    TGETLOCK = 54,
    TLINK = 70,
    TMKDIR = 72,
    TRENAMEAT = 74,
    TUNLINKAT = 76,
    TVERSION = 100, // msize[4] version[s]
    RVERSION = 101, // msize[4] version[s]
    TAUTH = 102,    // afid[4] uname[s] aname[s] n_uname[4]
    RAUTH = 103,    // aqid[13]
    TATTACH = 104,  // fid[4] afid[4] uname[s] aname[s] n_uname[4]
    RATTACH = 105,  // qid[13]
    TFLUSH = 108,
    TWALK = 110,  // fid[4] newfid[4] nwname[2] nwname*(wname[s])
    RWALK = 111,  // nwqid[2] nwqid*(wqid[13])
    TREAD = 116,  // fid[4] offset[8] count[4]
    RREAD = 117,  // count[4] data[count]
    TWRITE = 118, // fid[4] offset[8] count[4] data[count]
    RWRITE = 119, // count[4]
    TCLUNK = 120, // fid[4]
    RCLUNK = 121,
    TREMOVE = 122,
};

// End of the name (uname) of a job that does not want forwarders to try other settings while it runs.
#define JOB_STEADY "-steady"

#endif
