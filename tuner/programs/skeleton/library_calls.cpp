// SPDX-License-Identifier: Apache-2.0
#include "library_calls.hpp"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"

namespace skeleton
{

namespace
{

constexpr Library LISTED = Library::Listed;
constexpr Library OUTPUT = Library::Output;
constexpr Library ALLOCATES = Library::Allocates;
constexpr Library FREES = Library::Frees;

const LibraryCall UNKNOWN = {"", Library::Unknown, "h", nullptr};
const LibraryCall PURE = {"", LISTED, "v", nullptr};
const LibraryCall READS = {"", LISTED, "A", nullptr};
const LibraryCall ENDS = {"", Library::Ends, "a", nullptr};
const LibraryCall SHOWS = {"", OUTPUT, "Aa", nullptr};

const LibraryCall CALLS[] = {
    // Conversions of text to numbers; some set errno
    {"strtol", LISTED, "Aov", "errno"},
    {"strtoul", LISTED, "Aov", "errno"},
    {"strtoll", LISTED, "Aov", "errno"},
    {"strtoull", LISTED, "Aov", "errno"},
    {"__isoc23_strtol", LISTED, "Aov", "errno"},
    {"__isoc23_strtoul", LISTED, "Aov", "errno"},
    {"__isoc23_strtoll", LISTED, "Aov", "errno"},
    {"__isoc23_strtoull", LISTED, "Aov", "errno"},
    {"strtod", LISTED, "Ao", "errno"},
    {"strtof", LISTED, "Ao", "errno"},
    {"__errno_location", LISTED, "", "errno"},
    {"atoi", LISTED, "a", nullptr},
    {"atol", LISTED, "a", nullptr},
    {"atoll", LISTED, "a", nullptr},
    {"atof", LISTED, "a", nullptr},
    // Text and memory
    {"strlen", LISTED, "a", nullptr},
    {"strnlen", LISTED, "av", nullptr},
    {"strcmp", LISTED, "aa", nullptr},
    {"strncmp", LISTED, "aav", nullptr},
    {"strcasecmp", LISTED, "aa", nullptr},
    {"strncasecmp", LISTED, "aav", nullptr},
    {"strchr", LISTED, "Av", nullptr},
    {"strrchr", LISTED, "Av", nullptr},
    {"strstr", LISTED, "Aa", nullptr},
    {"memcmp", LISTED, "aav", nullptr},
    {"bcmp", LISTED, "aav", nullptr},
    {"memchr", LISTED, "Avv", nullptr},
    {"strcpy", LISTED, "Oa", nullptr},
    {"strncpy", LISTED, "Oav", nullptr},
    {"strcat", LISTED, "Oa", nullptr},
    {"strncat", LISTED, "Oav", nullptr},
    {"strtok", LISTED, "Ha", "strtok"},
    {"sprintf", LISTED, "oaa", nullptr},
    {"snprintf", LISTED, "ovaa", nullptr},
    {"__sprintf_chk", LISTED, "ovvaa", nullptr},
    {"__snprintf_chk", LISTED, "ovvvaa", nullptr},
    {"sscanf", LISTED, "aao", nullptr},
    {"__isoc99_sscanf", LISTED, "aao", nullptr},
    {"__isoc23_sscanf", LISTED, "aao", nullptr},
    {"getopt", LISTED, "vHa", "getopt"},
    {"getopt_long", LISTED, "vHaao", "getopt"},
    {"getopt_long_only", LISTED, "vHaao", "getopt"},
    // Functions with hidden state
    {"rand", LISTED, "", "random"},
    {"srand", LISTED, "v", "random"},
    {"random", LISTED, "", "random"},
    {"srandom", LISTED, "v", "random"},
    {"drand48", LISTED, "", "random"},
    {"lrand48", LISTED, "", "random"},
    {"mrand48", LISTED, "", "random"},
    {"srand48", LISTED, "v", "random"},
    {"rand_r", LISTED, "h", nullptr},
    {"getenv", LISTED, "a", "environment"},
    {"secure_getenv", LISTED, "a", "environment"},
    {"setenv", LISTED, "aav", "environment"},
    {"putenv", LISTED, "a", "environment"},
    {"unsetenv", LISTED, "a", "environment"},
    {"open", LISTED, "av", "descriptors"},
    {"open64", LISTED, "av", "descriptors"},
    {"close", LISTED, "v", "descriptors"},
    {"read", LISTED, "vov", "descriptors"},
    {"pread", LISTED, "vovv", "descriptors"},
    {"lseek", LISTED, "vvv", "descriptors"},
    {"lseek64", LISTED, "vvv", "descriptors"},
    // Streams
    {"fopen", ALLOCATES, "aa", nullptr},
    {"fopen64", ALLOCATES, "aa", nullptr},
    {"fgets", LISTED, "Ovh", nullptr},
    {"fread", LISTED, "ovvh", nullptr},
    {"fscanf", LISTED, "hao", nullptr},
    {"__isoc99_fscanf", LISTED, "hao", nullptr},
    {"__isoc23_fscanf", LISTED, "hao", nullptr},
    {"fgetc", LISTED, "h", nullptr},
    {"getc", LISTED, "h", nullptr},
    {"ungetc", LISTED, "vh", nullptr},
    {"feof", LISTED, "a", nullptr},
    {"ferror", LISTED, "a", nullptr},
    {"fseek", LISTED, "hvv", nullptr},
    {"ftell", LISTED, "a", nullptr},
    {"rewind", LISTED, "h", nullptr},
    {"fclose", LISTED, "h", nullptr},
    // Clocks
    {"gettimeofday", LISTED, "oo", nullptr},
    {"clock_gettime", LISTED, "vo", nullptr},
    {"time", LISTED, "o", nullptr},
    {"clock", LISTED, "", nullptr},
    {"times", LISTED, "o", nullptr},
    {"getrusage", LISTED, "vo", nullptr},
    {"clock_getres", LISTED, "vo", nullptr},
    {"difftime", LISTED, "vv", nullptr},
    {"ctime", LISTED, "a", "calendar"},
    {"asctime", LISTED, "a", "calendar"},
    {"localtime", LISTED, "a", "calendar"},
    {"gmtime", LISTED, "a", "calendar"},
    {"localtime_r", LISTED, "aO", nullptr},
    {"gmtime_r", LISTED, "aO", nullptr},
    {"strftime", LISTED, "ovaa", nullptr},
    // Information about the host
    {"gethostname", LISTED, "ov", nullptr},
    {"uname", LISTED, "o", nullptr},
    {"getpid", LISTED, "", nullptr},
    {"sysconf", LISTED, "v", nullptr},
    // Output to users, and waiting
    {"printf", OUTPUT, "a", nullptr},
    {"__printf_chk", OUTPUT, "va", nullptr},
    {"vprintf", OUTPUT, "aa", nullptr},
    {"puts", OUTPUT, "a", nullptr},
    {"putchar", OUTPUT, "v", nullptr},
    {"perror", OUTPUT, "a", nullptr},
    {"fprintf", OUTPUT, "va", nullptr},
    {"__fprintf_chk", OUTPUT, "vva", nullptr},
    {"vfprintf", OUTPUT, "vaa", nullptr},
    {"fputs", OUTPUT, "av", nullptr},
    {"fputc", OUTPUT, "vv", nullptr},
    {"putc", OUTPUT, "vv", nullptr},
    {"fwrite", OUTPUT, "avvv", nullptr},
    {"fflush", OUTPUT, "v", nullptr},
    {"setvbuf", OUTPUT, "vavv", nullptr},
    {"setbuf", OUTPUT, "va", nullptr},
    {"sleep", OUTPUT, "v", nullptr},
    {"usleep", OUTPUT, "v", nullptr},
    {"nanosleep", OUTPUT, "av", nullptr},
    {"sched_yield", OUTPUT, "", nullptr},
    {CHECK_NAME, OUTPUT, "v", nullptr},
    // Memory
    {"malloc", ALLOCATES, "v", nullptr},
    {"calloc", ALLOCATES, "vv", nullptr},
    {"realloc", ALLOCATES, "Av", nullptr},
    {"reallocarray", ALLOCATES, "Avv", nullptr},
    {"aligned_alloc", ALLOCATES, "vv", nullptr},
    {"memalign", ALLOCATES, "vv", nullptr},
    {"valloc", ALLOCATES, "v", nullptr},
    {"pvalloc", ALLOCATES, "v", nullptr},
    {"posix_memalign", ALLOCATES, "ovv", nullptr},
    {"mmap", ALLOCATES, "vvvvvv", nullptr},
    {"mmap64", ALLOCATES, "vvvvvv", nullptr},
    {"mremap", ALLOCATES, "Avvvv", nullptr},
    {"brk", ALLOCATES, "v", "break"},
    {"sbrk", ALLOCATES, "v", "break"},
    {"strdup", ALLOCATES, "a", nullptr},
    {"strndup", ALLOCATES, "av", nullptr},
    {"free", FREES, "v", nullptr},
    {"cfree", FREES, "v", nullptr},
    {"munmap", FREES, "vv", nullptr},
    // Changes to the process
    {"chdir", Library::Effect, "a", nullptr},
    {"fchdir", Library::Effect, "v", nullptr},
    {"mkdir", Library::Effect, "av", nullptr},
    {"setrlimit", Library::Effect, "va", nullptr},
    // Not supported by this pass
    {"dlsym", Library::Refused, "v", "functions found by dlsym()"},
    {"pthread_create", Library::Refused, "v", "threads"},
    {"thrd_create", Library::Refused, "v", "threads"},
    {"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE", Library::Refused, "v",
     "threads"},
    {"__kmpc_fork_call", Library::Refused, "v", "threads"},
    {"GOMP_parallel", Library::Refused, "v", "threads"},
    {"setjmp", Library::Refused, "v", "setjmp() and longjmp()"},
    {"_setjmp", Library::Refused, "v", "setjmp() and longjmp()"},
    {"__sigsetjmp", Library::Refused, "v", "setjmp() and longjmp()"},
    {"longjmp", Library::Refused, "v", "setjmp() and longjmp()"},
    {"siglongjmp", Library::Refused, "v", "setjmp() and longjmp()"},
};

// Functions that only compute. Each of them is also recognized with the suffixes f and l.
const char *const MATH[] = {
    "sin",    "cos",   "tan",     "asin",    "acos",      "atan",      "atan2",    "sinh",  "cosh",  "tanh",  "exp",
    "exp2",   "log",   "log10",   "log2",    "pow",       "sqrt",      "cbrt",     "hypot", "fabs",  "floor", "ceil",
    "round",  "trunc", "rint",    "fmod",    "fmin",      "fmax",      "erf",      "erfc",  "expm1", "log1p", "ldexp",
    "lround", "lrint", "llround", "tgamma",  "nearbyint", "remainder", "copysign", "abs",   "labs",  "llabs", "lgamma",
    "asinh",  "acosh", "atanh",   "toupper", "tolower",   "cexp",      "csqrt",    "cabs",  "carg",  "clog",  "cpow",
    "csin",   "ccos",  "ctan",    "conj",    "creal",     "cimag",     "cproj",
};

bool is_new(llvm::StringRef name)
{
    return name.take_front(4) == "_Znw" || name.take_front(4) == "_Zna";
}

bool is_delete(llvm::StringRef name)
{
    return name.take_front(4) == "_Zdl" || name.take_front(4) == "_Zda";
}

const LibraryCall *listed(llvm::StringRef name)
{
    static const llvm::StringMap<const LibraryCall *> by_name = [] {
        llvm::StringMap<const LibraryCall *> map;
        for (const LibraryCall &call : CALLS)
            map[call.name] = &call;
        for (const char *word : MATH) {
            for (const char *suffix : {"", "f", "l"})
                map[std::string(word) + suffix] = &PURE;
        }
        return map;
    }();
    static const LibraryCall made = {"new", ALLOCATES, "v", nullptr};
    static const LibraryCall deleted = {"delete", FREES, "v", nullptr};

    if (is_new(name))
        return &made;
    if (is_delete(name))
        return &deleted;
    return by_name.lookup(name);
}

// Return whether a call of a stream's member function or operator in C++ names std::cout, std::cerr or std::clog as the
// stream.
bool shows(const llvm::CallBase &call)
{
    if (call.arg_empty())
        return false;
    const auto *stream = llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(0)->stripInBoundsOffsets());
    return stream &&
           (stream->getName() == "_ZSt4cout" || stream->getName() == "_ZSt4cerr" || stream->getName() == "_ZSt4clog");
}

} // namespace

const LibraryCall *library_call(const llvm::CallBase &call)
{
    const llvm::Function *function = call.getCalledFunction();

    if (function) {
        if (const LibraryCall *entry = listed(function->getName()))
            return entry;
    }
    if (call.doesNotReturn())
        return &ENDS;
    if (shows(call))
        return &SHOWS;
    if (call.doesNotAccessMemory())
        return &PURE;
    if (call.onlyReadsMemory())
        return &READS;
    return &UNKNOWN;
}

static char letter_of(const LibraryCall &entry, unsigned index)
{
    llvm::StringRef letters(entry.parameters);

    if (letters.empty())
        return 'v';
    return index < letters.size() ? letters[index] : letters.back();
}

bool reads_argument(const LibraryCall &entry, unsigned index)
{
    return llvm::StringRef("aAhH").contains(letter_of(entry, index));
}

bool writes_argument(const LibraryCall &entry, unsigned index)
{
    return llvm::StringRef("oOhH").contains(letter_of(entry, index));
}

bool returns_argument(const LibraryCall &entry, unsigned index)
{
    return llvm::StringRef("AOH").contains(letter_of(entry, index));
}

int allocated_argument(llvm::StringRef function)
{
    return function == "posix_memalign" ? 0 : -1;
}

bool is_failure(const llvm::CallBase &call)
{
    const llvm::Function *function = call.getCalledFunction();

    if (!call.doesNotReturn())
        return false;
    if (!function)
        return true;
    llvm::StringRef name = function->getName();
    if (name != "exit" && name != "_exit" && name != "_Exit" && name != "quick_exit")
        return true;
    const auto *status = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
    return status && !status->isZero();
}

} // namespace skeleton
