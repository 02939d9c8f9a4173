// SPDX-License-Identifier: Apache-2.0
// The table of MPI routines, from the C bindings of the MPI standard 3.1. Routines that are not in the table are
// refused: those for one-sided communication, dynamic processes and the tools interface.
#include "mpi_calls.hpp"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"

namespace skeleton
{

namespace
{

constexpr Role P2P = Role::PointToPoint;
constexpr Role COLL = Role::Collective;
constexpr Role FILES = Role::File;
constexpr Role LOCAL = Role::Local;
constexpr Role EFFECT = Role::Effect;
constexpr Role QUERY = Role::Query;

const MpiCall CALLS[] = {
    // Point to point
    {"Send", P2P, "svdvtv"},
    {"Bsend", P2P, "svdvtv"},
    {"Ssend", P2P, "svdvtv"},
    {"Rsend", P2P, "svdvtv"},
    {"Recv", P2P, "rvdvtvo"},
    {"Isend", P2P, "svdvtvo"},
    {"Ibsend", P2P, "svdvtvo"},
    {"Issend", P2P, "svdvtvo"},
    {"Irsend", P2P, "svdvtvo"},
    {"Irecv", P2P, "rvdvtvo"},
    {"Send_init", P2P, "svdvtvo"},
    {"Bsend_init", P2P, "svdvtvo"},
    {"Ssend_init", P2P, "svdvtvo"},
    {"Rsend_init", P2P, "svdvtvo"},
    {"Recv_init", P2P, "rvdvtvo"},
    {"Sendrecv", P2P, "svdvtrvdvtvo"},
    {"Sendrecv_replace", P2P, "bvdvtvtvo"},
    {"Mrecv", P2P, "rvdho"},
    {"Imrecv", P2P, "rvdho"},
    {"Probe", EFFECT, "vvvo"},
    {"Iprobe", EFFECT, "vvvoo"},
    {"Mprobe", EFFECT, "vvvoo"},
    {"Improbe", EFFECT, "vvvooo"},
    {"Start", EFFECT, "h"},
    {"Startall", EFFECT, "vh"},
    {"Wait", EFFECT, "ho"},
    {"Waitall", EFFECT, "vho"},
    {"Waitany", EFFECT, "vhoo"},
    {"Waitsome", EFFECT, "vhooo"},
    {"Test", EFFECT, "hoo"},
    {"Testall", EFFECT, "vhoo"},
    {"Testany", EFFECT, "vhooo"},
    {"Testsome", EFFECT, "vhooo"},
    {"Request_free", EFFECT, "h"},
    {"Request_get_status", EFFECT, "voo"},
    {"Cancel", EFFECT, "h"},
    {"Test_cancelled", QUERY, "ao"},
    {"Get_count", QUERY, "avo"},
    {"Get_elements", QUERY, "avo"},
    {"Buffer_attach", EFFECT, "vv"},
    {"Buffer_detach", EFFECT, "oo"},
    // Collectives; the prefix I marks their non-blocking variants
    {"Barrier", COLL, "v"},
    {"Ibarrier", COLL, "vo"},
    {"Bcast", COLL, "bvdvv"},
    {"Ibcast", COLL, "bvdvvo"},
    {"Gather", COLL, "svdrvdvv"},
    {"Igather", COLL, "svdrvdvvo"},
    {"Gatherv", COLL, "svdraadvv"},
    {"Igatherv", COLL, "svdraadvvo"},
    {"Scatter", COLL, "svdrvdvv"},
    {"Iscatter", COLL, "svdrvdvvo"},
    {"Scatterv", COLL, "saadrvdvv"},
    {"Iscatterv", COLL, "saadrvdvvo"},
    {"Allgather", COLL, "svdrvdv"},
    {"Iallgather", COLL, "svdrvdvo"},
    {"Allgatherv", COLL, "svdraadv"},
    {"Iallgatherv", COLL, "svdraadvo"},
    {"Alltoall", COLL, "svdrvdv"},
    {"Ialltoall", COLL, "svdrvdvo"},
    {"Alltoallv", COLL, "saadraadv"},
    {"Ialltoallv", COLL, "saadraadvo"},
    {"Alltoallw", COLL, "saaaraaav"},
    {"Ialltoallw", COLL, "saaaraaavo"},
    {"Reduce", COLL, "srvdqvv"},
    {"Ireduce", COLL, "srvdqvvo"},
    {"Allreduce", COLL, "srvdqv"},
    {"Iallreduce", COLL, "srvdqvo"},
    {"Reduce_scatter", COLL, "sradqv"},
    {"Ireduce_scatter", COLL, "sradqvo"},
    {"Reduce_scatter_block", COLL, "srvdqv"},
    {"Ireduce_scatter_block", COLL, "srvdqvo"},
    {"Scan", COLL, "srvdqv"},
    {"Iscan", COLL, "srvdqvo"},
    {"Exscan", COLL, "srvdqv"},
    {"Iexscan", COLL, "srvdqvo"},
    {"Neighbor_allgather", COLL, "svdrvdv"},
    {"Ineighbor_allgather", COLL, "svdrvdvo"},
    {"Neighbor_allgatherv", COLL, "svdraadv"},
    {"Ineighbor_allgatherv", COLL, "svdraadvo"},
    {"Neighbor_alltoall", COLL, "svdrvdv"},
    {"Ineighbor_alltoall", COLL, "svdrvdvo"},
    {"Neighbor_alltoallv", COLL, "saadraadv"},
    {"Ineighbor_alltoallv", COLL, "saadraadvo"},
    // Routines that move data within the process
    {"Reduce_local", LOCAL, "sbvdq"},
    {"Pack", LOCAL, "svdrvhv"},
    {"Unpack", LOCAL, "svhrvdv"},
    {"Pack_size", QUERY, "vvvo"},
    {"Op_create", EFFECT, "fvo"},
    {"Op_free", EFFECT, "h"},
    // Groups, communicators, topologies
    {"Comm_rank", QUERY, "vo"},
    {"Comm_size", QUERY, "vo"},
    {"Comm_remote_size", QUERY, "vo"},
    {"Comm_group", QUERY, "vo"},
    {"Comm_compare", QUERY, "vvo"},
    {"Comm_test_inter", QUERY, "vo"},
    {"Comm_get_name", QUERY, "voo"},
    {"Comm_get_attr", QUERY, "vvoo"},
    {"Attr_get", QUERY, "vvoo"},
    {"Comm_dup", EFFECT, "vo"},
    {"Comm_idup", EFFECT, "voo"},
    {"Comm_dup_with_info", EFFECT, "vvo"},
    {"Comm_split", EFFECT, "vvvo"},
    {"Comm_split_type", EFFECT, "vvvvo"},
    {"Comm_create", EFFECT, "vvo"},
    {"Comm_create_group", EFFECT, "vvvo"},
    {"Intercomm_create", EFFECT, "vvvvvo"},
    {"Intercomm_merge", EFFECT, "vvo"},
    {"Comm_free", EFFECT, "h"},
    {"Comm_set_name", EFFECT, "va"},
    {"Comm_set_errhandler", EFFECT, "vv"},
    {"Comm_create_errhandler", EFFECT, "fo"},
    {"Errhandler_set", EFFECT, "vv"},
    {"Errhandler_free", EFFECT, "h"},
    {"Group_incl", EFFECT, "vvao"},
    {"Group_excl", EFFECT, "vvao"},
    {"Group_range_incl", EFFECT, "vvao"},
    {"Group_range_excl", EFFECT, "vvao"},
    {"Group_union", EFFECT, "vvo"},
    {"Group_intersection", EFFECT, "vvo"},
    {"Group_difference", EFFECT, "vvo"},
    {"Group_free", EFFECT, "h"},
    {"Group_rank", QUERY, "vo"},
    {"Group_size", QUERY, "vo"},
    {"Group_compare", QUERY, "vvo"},
    {"Group_translate_ranks", QUERY, "vvavo"},
    {"Dims_create", QUERY, "vvh"},
    {"Cart_create", EFFECT, "vvaavo"},
    {"Cart_sub", EFFECT, "vao"},
    {"Cart_coords", QUERY, "vvvo"},
    {"Cart_rank", QUERY, "vao"},
    {"Cart_shift", QUERY, "vvvoo"},
    {"Cart_get", QUERY, "vvooo"},
    {"Cartdim_get", QUERY, "vo"},
    {"Topo_test", QUERY, "vo"},
    {"Graph_create", EFFECT, "vvaavo"},
    {"Dist_graph_create", EFFECT, "vvaaaavvo"},
    {"Dist_graph_create_adjacent", EFFECT, "vvaavaavvo"},
    {"Dist_graph_neighbors", QUERY, "vvoovoo"},
    {"Dist_graph_neighbors_count", QUERY, "vooo"},
    // Datatypes
    {"Type_contiguous", EFFECT, "vvo"},
    {"Type_vector", EFFECT, "vvvvo"},
    {"Type_hvector", EFFECT, "vvvvo"},
    {"Type_create_hvector", EFFECT, "vvvvo"},
    {"Type_indexed", EFFECT, "vaavo"},
    {"Type_hindexed", EFFECT, "vaavo"},
    {"Type_create_hindexed", EFFECT, "vaavo"},
    {"Type_create_indexed_block", EFFECT, "vvavo"},
    {"Type_create_hindexed_block", EFFECT, "vvavo"},
    {"Type_struct", EFFECT, "vaaao"},
    {"Type_create_struct", EFFECT, "vaaao"},
    {"Type_create_subarray", EFFECT, "vaaavvo"},
    {"Type_create_darray", EFFECT, "vvvaaaavvo"},
    {"Type_create_resized", EFFECT, "vvvo"},
    {"Type_dup", EFFECT, "vo"},
    {"Type_commit", EFFECT, "h"},
    {"Type_free", EFFECT, "h"},
    {"Type_size", QUERY, "vo"},
    {"Type_extent", QUERY, "vo"},
    {"Type_lb", QUERY, "vo"},
    {"Type_ub", QUERY, "vo"},
    {"Type_get_extent", QUERY, "voo"},
    {"Type_get_true_extent", QUERY, "voo"},
    {"Get_address", QUERY, "vo"},
    {"Address", QUERY, "vo"},
    // Files
    {"File_open", EFFECT, "vavvo"},
    {"File_close", EFFECT, "h"},
    {"File_delete", EFFECT, "av"},
    {"File_set_view", EFFECT, "vvvvav"},
    {"File_set_size", EFFECT, "vv"},
    {"File_preallocate", EFFECT, "vv"},
    {"File_set_atomicity", EFFECT, "vv"},
    {"File_set_info", EFFECT, "vv"},
    {"File_set_errhandler", EFFECT, "vv"},
    {"File_sync", EFFECT, "v"},
    {"File_seek", EFFECT, "vvv"},
    {"File_seek_shared", EFFECT, "vvv"},
    {"File_get_size", QUERY, "vo"},
    {"File_get_info", EFFECT, "vo"},
    {"File_get_position", QUERY, "vo"},
    {"File_read", FILES, "vrvdo"},
    {"File_read_all", FILES, "vrvdo"},
    {"File_read_shared", FILES, "vrvdo"},
    {"File_read_ordered", FILES, "vrvdo"},
    {"File_read_at", FILES, "vvrvdo"},
    {"File_read_at_all", FILES, "vvrvdo"},
    {"File_iread", FILES, "vrvdo"},
    {"File_iread_at", FILES, "vvrvdo"},
    {"File_iread_all", FILES, "vrvdo"},
    {"File_iread_at_all", FILES, "vvrvdo"},
    {"File_write", FILES, "vsvdo"},
    {"File_write_all", FILES, "vsvdo"},
    {"File_write_shared", FILES, "vsvdo"},
    {"File_write_ordered", FILES, "vsvdo"},
    {"File_write_at", FILES, "vvsvdo"},
    {"File_write_at_all", FILES, "vvsvdo"},
    {"File_iwrite", FILES, "vsvdo"},
    {"File_iwrite_at", FILES, "vvsvdo"},
    {"File_iwrite_all", FILES, "vsvdo"},
    {"File_iwrite_at_all", FILES, "vvsvdo"},
    {"File_read_all_begin", FILES, "vrvd"},
    {"File_read_all_end", FILES, "vro"},
    {"File_read_at_all_begin", FILES, "vvrvd"},
    {"File_read_at_all_end", FILES, "vro"},
    {"File_write_all_begin", FILES, "vsvd"},
    {"File_write_all_end", FILES, "vso"},
    {"File_write_at_all_begin", FILES, "vvsvd"},
    {"File_write_at_all_end", FILES, "vso"},
    // The environment
    {"Init", EFFECT, "hh"},
    {"Init_thread", EFFECT, "hhvo"},
    {"Finalize", EFFECT, ""},
    {"Abort", Role::Exit, "vv"},
    {"Initialized", QUERY, "o"},
    {"Finalized", QUERY, "o"},
    {"Query_thread", QUERY, "o"},
    {"Is_thread_main", QUERY, "o"},
    {"Wtime", QUERY, ""},
    {"Wtick", QUERY, ""},
    {"Get_processor_name", QUERY, "oo"},
    {"Get_version", QUERY, "oo"},
    {"Get_library_version", QUERY, "oo"},
    {"Error_string", QUERY, "voo"},
    {"Error_class", QUERY, "vo"},
    {"Alloc_mem", EFFECT, "vvo"},
    {"Free_mem", EFFECT, "v"},
    {"Info_create", EFFECT, "o"},
    {"Info_dup", EFFECT, "vo"},
    {"Info_set", EFFECT, "vaa"},
    {"Info_get", QUERY, "vavoo"},
    {"Info_get_nkeys", QUERY, "vo"},
    {"Info_get_nthkey", QUERY, "vvo"},
    {"Info_delete", EFFECT, "va"},
    {"Info_free", EFFECT, "h"},
    {"Comm_create_keyval", EFFECT, "ffov"},
    {"Comm_free_keyval", EFFECT, "h"},
    {"Comm_set_attr", EFFECT, "vvv"},
    {"Comm_delete_attr", EFFECT, "vv"},
};

} // namespace

const MpiCall *mpi_call(llvm::StringRef function)
{
    static const llvm::StringMap<const MpiCall *> by_name = [] {
        llvm::StringMap<const MpiCall *> map;
        for (const MpiCall &call : CALLS)
            map[call.name] = &call;
        return map;
    }();

    if (!function.consume_front("PMPI_") && !function.consume_front("MPI_"))
        return nullptr;
    return by_name.lookup(function);
}

bool is_mpi_name(llvm::StringRef function)
{
    return function.take_front(4) == "MPI_" || function.take_front(5) == "PMPI_" || function.take_front(4) == "mpi_";
}

Parameter parameter_of(char letter)
{
    switch (letter) {
    case 'v':
        return Parameter::Value;
    case 'd':
        return Parameter::Type;
    case 't':
        return Parameter::Tag;
    case 'q':
        return Parameter::Operator;
    case 'a':
        return Parameter::Array;
    case 's':
        return Parameter::Sent;
    case 'r':
        return Parameter::Received;
    case 'b':
        return Parameter::Both;
    case 'o':
        return Parameter::Output;
    case 'h':
        return Parameter::Handle;
    case 'f':
        return Parameter::Callback;
    }
    llvm_unreachable("a letter that the table does not use");
}

const llvm::Value *next_of(const llvm::CallBase &call, const MpiCall &entry, unsigned index, Parameter kind)
{
    llvm::StringRef letters(entry.parameters);

    for (unsigned i = index + 1; i < letters.size() && i < call.arg_size(); i++) {
        if (parameter_of(letters[i]) == kind)
            return call.getArgOperand(i);
    }
    return nullptr;
}

} // namespace skeleton
