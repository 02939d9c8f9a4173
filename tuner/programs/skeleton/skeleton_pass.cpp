// SPDX-License-Identifier: Apache-2.0
// The pass `skeleton` turns a whole MPI program into its skeleton. Load it into opt:
//
//   opt -load-pass-plugin=reprise-skeleton-pass.so -passes='skeleton,default<O2>' program.bc -o skeleton.bc
#include "control.hpp"
#include "convergence.hpp"
#include "failures.hpp"
#include "limits.hpp"
#include "marking.hpp"
#include "refusal.hpp"
#include "removal.hpp"

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/FunctionAttrs.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/GlobalOpt.h"
#include "llvm/Transforms/IPO/InferFunctionAttrs.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/IPO/SCCP.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LowerInvoke.h"
#include "llvm/Transforms/Utils/UnifyFunctionExitNodes.h"

namespace skeleton
{

namespace
{

// Options of the pass, which are written after its name, as in skeleton<globals;rounds=100>.
struct Options {
    bool globals = false;     // follow global variables that change
    bool follow = false;      // keep the computation that decides about convergence
    bool verbose = false;     // print how much of the program was kept
    unsigned long rounds = 0; // rounds of each loop that tests for convergence; 0 to keep the loop's other bound
};

bool read_options(llvm::StringRef text, Options &options)
{
    llvm::SmallVector<llvm::StringRef, 4> words;

    if (text.empty())
        return true;
    if (!text.consume_front("<") || !text.consume_back(">"))
        return false;
    text.split(words, ';', -1, false);
    for (llvm::StringRef word : words) {
        if (word == "globals")
            options.globals = true;
        else if (word == "follow")
            options.follow = true;
        else if (word == "verbose")
            options.verbose = true;
        else if (!word.consume_front("rounds=") || word.getAsInteger(10, options.rounds))
            return false;
    }
    return true;
}

// Maximum cost of functions that are inlined. Each inlined copy of a function that allocates memory is a separate
// allocation site, so that callers are distinguished. The limit was measured on code like MiniFE's. Functions with a
// higher cost are only analyzed less precisely.
constexpr int INLINED_COST_MAX = 600;

class Aborts : public llvm::PassInfoMixin<Aborts>
{
  public:
    llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &)
    {
        mark_aborts(module);
        return llvm::PreservedAnalyses::none();
    }
};

// Refuses global variables that change. This pass runs before optimizations that move accesses away from their lines in
// the source.
class Globals : public llvm::PassInfoMixin<Globals>
{
  public:
    llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &)
    {
        Pointers pointers(module);
        refuse_globals(Program(module, pointers));
        return llvm::PreservedAnalyses::all();
    }

    static bool isRequired()
    {
        return true;
    }
};

std::vector<Convergence::Test> cut_convergence(llvm::Module &module, const Options &options)
{
    Pointers pointers(module);
    Program program(module, pointers);

    refuse_unknown_mpi(program);
    refuse_calls(program, pointers);
    if (options.follow)
        return {};
    Memory memory(module, pointers, program.functions);
    return Convergence(program, pointers, memory).cut(options.rounds);
}

void report(const Convergence::Test &test, unsigned long rounds)
{
    if (!test.bounded)
        refuse(test.branch, "received data ends this loop, and nothing else bounds it: give --rounds N to set "
                            "its rounds, or --follow to keep the computation that ends it");
    if (rounds)
        remark(test.branch,
               "received data ends this loop: it runs for at most " + llvm::Twine(rounds) + " rounds in the skeleton");
    else
        remark(test.branch, "received data may end this loop: it runs to its other bound in the skeleton; "
                            "--rounds N sets a lower bound, --follow keeps the computation that ends it");
}

class Skeleton : public llvm::PassInfoMixin<Skeleton>
{
  public:
    explicit Skeleton(const Options &options) : options(options)
    {
    }

    llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &)
    {
        branches_to_checks(module);
        std::vector<Convergence::Test> tests = cut_convergence(module, options);
        Pointers pointers(module);
        Program program(module, pointers);
        Memory memory(module, pointers, program.functions);
        Control control;
        Marking marking(program, pointers, memory, control);
        marking.run();
        for (const Convergence::Test &test : tests) {
            if (marking.kept(test.branch))
                report(test, options.rounds);
        }
        for (const llvm::CallBase *call : marking.deciding()) {
            if (options.verbose)
                remark(call, "the data received here affects communication: its computation is kept");
        }
        Removed removed = remove_all_but_kept(program, marking, control);
        checks_to_branches(module);
        prepare(module, program);
        if (options.verbose)
            llvm::errs() << "reprise-skeleton: " << removed.after << " of " << removed.before
                         << " instructions are kept\n";
        if (llvm::verifyModule(module, &llvm::errs()))
            refuse(nullptr, "the skeleton is not valid: this is a bug in reprise-skeleton; please report it");
        return llvm::PreservedAnalyses::none();
    }

    static bool isRequired()
    {
        return true;
    }

  private:
    Options options;
};

// Add the passes that make a skeleton. The passes before Skeleton propagate constants through calls, so that calls
// through pointers become direct calls. They also move variables to registers, and make exceptions end the program.
void add_passes(llvm::ModulePassManager &passes, const Options &options)
{
    auto each = [&](auto pass) { passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(pass))); };
    auto promote = [&] {
#if LLVM_VERSION_MAJOR >= 16
        each(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
#else
        each(llvm::SROAPass());
#endif
        each(llvm::EarlyCSEPass());
        each(llvm::SimplifyCFGPass());
    };

    passes.addPass(llvm::InternalizePass([](const llvm::GlobalValue &value) { return value.getName() == "main"; }));
    passes.addPass(llvm::GlobalDCEPass());
    passes.addPass(llvm::InferFunctionAttrsPass());
    passes.addPass(Aborts());
    each(llvm::LowerInvokePass());
    promote();
    passes.addPass(llvm::createModuleToPostOrderCGSCCPassAdaptor(llvm::PostOrderFunctionAttrsPass()));
    passes.addPass(llvm::IPSCCPPass());
    if (!options.globals)
        passes.addPass(Globals());
    passes.addPass(llvm::GlobalOptPass());
    passes.addPass(llvm::ModuleInlinerWrapperPass(llvm::getInlineParams(INLINED_COST_MAX)));
    promote();
    passes.addPass(llvm::IPSCCPPass());
    passes.addPass(llvm::GlobalOptPass());
    each(llvm::SimplifyCFGPass());
    passes.addPass(llvm::GlobalDCEPass());
    each(llvm::UnifyFunctionExitNodesPass());
    passes.addPass(Skeleton(options));
    passes.addPass(llvm::GlobalDCEPass());
}

} // namespace

} // namespace skeleton

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "reprise-skeleton", "1", [](llvm::PassBuilder &builder) {
                builder.registerPipelineParsingCallback([](llvm::StringRef name, llvm::ModulePassManager &passes,
                                                           llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
                    skeleton::Options options;
                    if (!name.consume_front("skeleton") || !skeleton::read_options(name, options))
                        return false;
                    skeleton::add_passes(passes, options);
                    return true;
                });
            }};
}
