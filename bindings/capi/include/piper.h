// Piper: a compiler for distributed training, as a C library.
//
// Written by `cargo xtask header` from bindings/capi; do not edit. docs/embed-c.md walks through it.
//
// Names      A program links libpiper and calls these functions. A plugin links nothing: it is given a table of functions
//            (PiperApi) with the same functions without "piper_", and may call them by their full names; see "plugins" at the end.
// Errors     Functions that can fail give a PiperStatus, and where diagnostics tell why, a PiperError through their last argument,
//            which may be null; it is the caller's, who ends it with piper_error_destroy. Functions that only ask give "nothing"
//            (bits 0, null, 0, false) when they are asked something impossible, and leave why with piper_module_misuse.
// Handles    PiperOp, PiperValue, PiperBlock and PiperRegion are numbers of a module. A handle of something erased, of another
//            module, or from before a pipeline ran is noticed: the answer is PIPER_STALE, and no other operation is touched.
// Pointers   Are null or good for as long as the call; what a function gives through a pointer is the caller's, to be ended with the
//            function that is named. A pointer to a module, plan, ... that was destroyed must not be used; one to a pass that has
//            ended is noticed as long as its plugin is loaded. Texts have a size and need no NUL; those that the library gives
//            (PiperStr) are borrowed, and the function says for how long.
// Panics     None leaves the library: a fault of it is PIPER_PANICKED. A function of the caller that the library calls must return:
//            no longjmp out of it and no C++ exception through it.
// Threads    Every function says which of these it is:
//              any      may be called by any thread at any time;
//              reader   several threads may call it at once for one object, as long as none calls a writer for it;
//              writer   one thread at a time for one object;
//              pass's   the thread that the pass runs on, until it returns.
//            Objects may move between threads. Different modules, plans and trainings share nothing that needs care.
// Structures that a caller fills in and that may grow begin with their size: set it to sizeof, and the rest to zero.


#ifndef PIPER_H
#define PIPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// The extent of a dimension that is not known (`?`).
#define PIPER_DYNAMIC INT64_MIN


// The number of this interface. Libraries and plugins of one number work together: within a number functions are only added.
#define PIPER_ABI_VERSION 1

// An attribute of no kind that this header knows, or none.
#define PIPER_ATTR_OTHER 0

// Presence alone.
#define PIPER_ATTR_UNIT 1

// `3 : i32`, `true`
#define PIPER_ATTR_INTEGER 2

// `1.5 : f32`
#define PIPER_ATTR_FLOAT 3

// `"text"`
#define PIPER_ATTR_STRING 4

// `[a, b]`
#define PIPER_ATTR_ARRAY 5

// `{k = a}`
#define PIPER_ATTR_DICTIONARY 6

// A type.
#define PIPER_ATTR_TYPE 7

// `@name`
#define PIPER_ATTR_SYMBOL 8

// `array<i64: 1, 2>`
#define PIPER_ATTR_DENSE_ARRAY 9

// `dense<...> : tensor<...>`
#define PIPER_ATTR_DENSE 10

// `#dialect.name<...>`
#define PIPER_ATTR_DIALECT 11

// Nowhere: what is created stands in no block yet.
#define PIPER_NOWHERE 0

// At the end of `block`.
#define PIPER_AT_END 1

// Before `op`.
#define PIPER_BEFORE 2

// After `op`.
#define PIPER_AFTER 3

// At the beginning of `block`.
#define PIPER_AT_START 4

// Machine code in a build with LLVM, else the interpreter.
#define PIPER_KERNELS_DEFAULT 0

// The reference interpreter: slow, and needs nothing. Its plans run in this process alone.
#define PIPER_KERNELS_INTERPRETED 1

// Machine code for this processor; needs a build with LLVM.
#define PIPER_KERNELS_NATIVE 2

// Elements of 4 bytes, IEEE binary32.
#define PIPER_F32 0

// Elements of 8 bytes, IEEE binary64.
#define PIPER_F64 1

// Elements of 4 bytes, signed integers.
#define PIPER_I32 2

// Elements of 2 bytes, bfloat16.
#define PIPER_BF16 3

// A table for people.
#define PIPER_SIM_TABLE 0

// JSON.
#define PIPER_SIM_JSON 1

// A trace for Perfetto.
#define PIPER_SIM_TRACE 2

// A page with the timeline drawn.
#define PIPER_SIM_HTML 3

// Print every operation in the generic form.
#define PIPER_PRINT_GENERIC 1

// Print locations after operations.
#define PIPER_PRINT_LOCATIONS 2

// The pass changes nothing, so that nothing is verified or computed again after it; it fails if it tries to.
#define PIPER_PASS_ONLY_READS 1

// The pass may run on several threads at once, on different operations. Without it there is one run at a time in the process.
#define PIPER_PASS_CONCURRENT 2

// What the description of a plugin begins with.
#define PIPER_PLUGIN_MAGIC 5785243454999053057

// Nothing can be made of the input.
#define PIPER_ERROR 0

// It may not be what was meant.
#define PIPER_WARNING 1

// Worth knowing.
#define PIPER_REMARK 2

// Belongs to another diagnostic.
#define PIPER_NOTE 3

// A type of no kind that this header knows, or none.
#define PIPER_TYPE_OTHER 0

// `i32`, `si8`, `ui64`
#define PIPER_TYPE_INTEGER 1

// `f32`, `bf16`
#define PIPER_TYPE_FLOAT 2

// `index`
#define PIPER_TYPE_INDEX 3

// `tensor<4x?xf32>`
#define PIPER_TYPE_TENSOR 4

// `(i32) -> f32`
#define PIPER_TYPE_FUNCTION 5

// `!dialect.name<...>`
#define PIPER_TYPE_DIALECT 6

// `vector<4xf32>`
#define PIPER_TYPE_VECTOR 7

// `memref<4xf32>`
#define PIPER_TYPE_MEMREF 8

// Go on.
#define PIPER_WALK_ON 0

// Go on, but not into this operation (in the order `PIPER_OUTER_FIRST`).
#define PIPER_WALK_SKIP 1

// Stop.
#define PIPER_WALK_STOP 2

// An operation comes before what is in it: as in the text.
#define PIPER_OUTER_FIRST 0

// An operation comes after what is in it.
#define PIPER_INNER_FIRST 1

// Dialects and passes: what the compiler knows. There is no global one; programs may have several.
typedef struct PiperCompiler PiperCompiler;

// Why something failed: at least one diagnostic, which is an error. Owned by whoever asked for it.
typedef struct PiperError PiperError;

// A module. Made by a compiler, or lent to a pass for the time that it runs.
typedef struct PiperModule PiperModule;

// A pass that runs: what it works on and with. Lives until the function that runs the pass returns.
typedef struct PiperPass PiperPass;

// Device programs with the kernels they launch. Made by a compiler or read from a file.
typedef struct PiperPlan PiperPlan;

// What a plugin adds to.
typedef struct PiperRegistrar PiperRegistrar;

// Devices with their memory and threads, all in this process. Threads of its own stop when it is destroyed.
typedef struct PiperTraining PiperTraining;

// A text: `len` bytes of UTF-8, which need not end with a NUL. As a result it is borrowed: the function says for how long.
// `data` is null for no text at all.
typedef struct PiperStr {
  // The first byte.
  const char *data;
  // How many bytes.
  size_t len;
} PiperStr;

// How a function ended: `PIPER_OK`, or one of the others.
typedef int32_t PiperStatus;

// An attribute: constant data. Holds for its module whatever passes run. Bits 0 for none.
typedef struct PiperAttr {
  // A stamp and a number; 0 for none. Equal bits are equal attributes.
  uint64_t bits;
} PiperAttr;

// Bytes that the caller owns, with a NUL after them that does not count. Freed with `piper_string_free`.
typedef struct PiperString {
  // The first byte; null if there is nothing.
  char *data;
  // How many bytes, without the NUL.
  size_t len;
} PiperString;

// A type. Holds for its module whatever passes run. Bits 0 for none.
typedef struct PiperType {
  // A stamp and a number; 0 for none. Equal bits are equal types.
  uint64_t bits;
} PiperType;

// A name and an attribute: an entry of an operation's attributes or of a dictionary.
typedef struct PiperNamedAttr {
  // The name. As a result it lives as long as the module.
  struct PiperStr name;
  // The attribute.
  struct PiperAttr attr;
} PiperNamedAttr;

// An operation of a module. Bits 0 for none.
typedef struct PiperOp {
  // A stamp and a number; 0 for none. Equal bits are the same operation.
  uint64_t bits;
} PiperOp;

// A block: a list of operations with arguments. Bits 0 for none.
typedef struct PiperBlock {
  // A stamp and a number; 0 for none. Equal bits are the same block.
  uint64_t bits;
} PiperBlock;

// A value: a result of an operation or an argument of a block. Bits 0 for none.
typedef struct PiperValue {
  // A stamp and a number; 0 for none. Equal bits are the same value.
  uint64_t bits;
} PiperValue;

// A region: a list of blocks that an operation owns. Bits 0 for none.
typedef struct PiperRegion {
  // A stamp and a number; 0 for none. Equal bits are the same region.
  uint64_t bits;
} PiperRegion;

// A location: where something was written. Holds for its module whatever passes run. Bits 0 are the unknown location.
typedef struct PiperLoc {
  // A stamp and a number; 0 for the unknown location.
  uint64_t bits;
} PiperLoc;

// What an operation is made of. Set `size` to `sizeof(PiperOpParts)` and the rest to zero, then what there is.
typedef struct PiperOpParts {
  // `sizeof(PiperOpParts)`
  size_t size;
  // Its name, as `nn.linear`.
  struct PiperStr name;
  // Its location; none takes that of the operation it is put before or after.
  struct PiperLoc loc;
  // Its operands, those of the first declared name first.
  const struct PiperValue *operands;
  // How many.
  size_t num_operands;
  // The types of its results; with none, and an operation that has results, they are inferred.
  const struct PiperType *results;
  // How many.
  size_t num_results;
  // Its attributes.
  const struct PiperNamedAttr *attrs;
  // How many.
  size_t num_attrs;
  // Its regions, each made by `piper_region_create` and of no other operation.
  const struct PiperRegion *regions;
  // How many.
  size_t num_regions;
  // The blocks it may go on to.
  const struct PiperBlock *successors;
  // How many.
  size_t num_successors;
} PiperOpParts;

// Where an operation goes; the header has functions that fill it in. All zero is nowhere.
typedef struct PiperPlace {
  // One of `PIPER_NOWHERE`, `PIPER_AT_START`, `PIPER_AT_END`, `PIPER_BEFORE`, `PIPER_AFTER`.
  uint32_t kind;
  // For `PIPER_AT_START` and `PIPER_AT_END`.
  struct PiperBlock block;
  // For `PIPER_BEFORE` and `PIPER_AFTER`.
  struct PiperOp op;
} PiperPlace;

// A further fact of a diagnostic, at a place of its own.
typedef struct PiperNote {
  // What it says.
  struct PiperStr text;
  // The file; null data if it is about no line of a source.
  struct PiperStr file;
  // From 1; 0 if there is no place.
  uint32_t line;
  // In characters, from 1; 0 if there is no place.
  uint32_t column;
} PiperNote;

// What the compiler says. Its texts live as long as whatever it was got from: an error, or the call of a function.
typedef struct PiperDiagnostic {
  // One of `PIPER_ERROR`, `PIPER_WARNING`, `PIPER_REMARK`, `PIPER_NOTE`.
  uint32_t severity;
  // From 1; 0 if there is no place.
  uint32_t line;
  // In characters, from 1; 0 if there is no place.
  uint32_t column;
  // Where the word that begins there ends, one past its last character.
  uint32_t end_column;
  // What it says.
  struct PiperStr text;
  // The file; null data if it is about no line of a source.
  struct PiperStr file;
  // What to do about it; null data if that is not said.
  struct PiperStr hint;
  // Further facts.
  const struct PiperNote *notes;
  // How many.
  size_t num_notes;
  // All of it with the source lines, as the tools print it; ends with a line break.
  struct PiperStr rendered;
} PiperDiagnostic;

// Called with a diagnostic, which lives until it returns.
typedef void (*PiperListener)(void *user, const struct PiperDiagnostic *diagnostic);

// An option of a pass.
typedef struct PiperOptionInfo {
  // Its name, as in `my-pass{name=3}`.
  struct PiperStr name;
  // One line.
  struct PiperStr summary;
  // Its value when it is not given; null data if it has none then.
  struct PiperStr default_value;
} PiperOptionInfo;

// Runs a pass: answers `PIPER_OK`, or anything else after it reported why it failed. It must return: no `longjmp` out of it, no
// exception through it.
typedef PiperStatus (*PiperPassRun)(void *user, struct PiperPass *pass);

// Called once when the pass is not known to anybody any more.
typedef void (*PiperRelease)(void *user);

// A pass to be registered. Set `size` to `sizeof(PiperPassInfo)` and the rest to zero, then what there is. All texts are copied.
typedef struct PiperPassInfo {
  // `sizeof(PiperPassInfo)`
  size_t size;
  // Its name, as in pipelines.
  struct PiperStr name;
  // One line.
  struct PiperStr summary;
  // Markdown: input, output, failure cases.
  struct PiperStr description;
  // The operation it runs on; null data for `builtin.module`. A pass on another one changes nothing outside that operation.
  struct PiperStr anchor;
  // Its options.
  const struct PiperOptionInfo *options;
  // How many.
  size_t num_options;
  // The passes on whose result it works, which tools run first when they are asked for this one alone.
  const struct PiperStr *after;
  // How many.
  size_t num_after;
  // `PIPER_PASS_*`
  uint32_t flags;
  // Runs it.
  PiperPassRun run;
  // Given to `run`.
  void *user;
  // Called with `user` in the end; may be null.
  PiperRelease release;
} PiperPassInfo;

// How to compile. Set `size` to `sizeof(PiperCompileOptions)` and the rest to zero, then what is wanted.
typedef struct PiperCompileOptions {
  // `sizeof(PiperCompileOptions)`
  size_t size;
  // The strategy's name; null data for the only one.
  struct PiperStr plan;
  // One of `PIPER_KERNELS_*`.
  uint32_t kernels;
  // Every complete gradient is an output of a step, called `grad.` and its parameter's name.
  bool gradients;
  // Add gradients as a balanced tree over the grains of the batch, so that strategies agree bit for bit.
  bool fixed_tree;
} PiperCompileOptions;

// An array with a name, row-major, in the machine's byte order. As a result it is borrowed.
typedef struct PiperTensor {
  // The name of the input, output, parameter or state.
  struct PiperStr name;
  // Extents; global ones, whatever the devices hold.
  const uint64_t *shape;
  // How many.
  size_t rank;
  // One of `PIPER_F32`, `PIPER_F64`, `PIPER_I32`, `PIPER_BF16`.
  uint32_t dtype;
  // The elements; null where only name, shape and type are told.
  const void *data;
  // Bytes of them.
  size_t size;
} PiperTensor;

// How to run. Set `size` to `sizeof(PiperRunOptions)` and the rest to zero, then what is wanted.
typedef struct PiperRunOptions {
  // `sizeof(PiperRunOptions)`
  size_t size;
  // Seed of the initial values.
  uint64_t seed;
  // A step fails after so many milliseconds without any device starting a new instruction; 0 for 60 000.
  uint64_t timeout_ms;
  // Threads of each device; 0 for 1.
  uint32_t threads;
  // Record every instruction for `piper_training_trace`.
  bool trace;
} PiperRunOptions;

// A use of a value: operand number `index` of `op`.
typedef struct PiperUse {
  // Who uses it.
  struct PiperOp op;
  // As which operand.
  size_t index;
} PiperUse;

// Called with an operation; answers with one of `PIPER_WALK_*`. It may change the module.
typedef uint32_t (*PiperVisit)(void *user, struct PiperModule *module, struct PiperOp op);

// The functions that a plugin is given, without `piper_`. Later versions have more at the end, and no others.
typedef struct PiperApi {
  // `sizeof(PiperApi)` of the host.
  size_t size;
  // `piper_abi_version`
  uint32_t (*abi_version)(void);
  // `piper_attr_array`
  struct PiperAttr (*attr_array)(const struct PiperModule *module,
                                 const struct PiperAttr *items,
                                 size_t num_items);
  // `piper_attr_as_float`
  bool (*attr_as_float)(const struct PiperModule *module, struct PiperAttr attr, double *out);
  // `piper_attr_as_int`
  bool (*attr_as_int)(const struct PiperModule *module, struct PiperAttr attr, int64_t *out);
  // `piper_attr_as_ints`
  size_t (*attr_as_ints)(const struct PiperModule *module,
                         struct PiperAttr attr,
                         int64_t *out,
                         size_t room);
  // `piper_attr_as_string`
  struct PiperStr (*attr_as_string)(const struct PiperModule *module, struct PiperAttr attr);
  // `piper_attr_as_type`
  struct PiperType (*attr_as_type)(const struct PiperModule *module, struct PiperAttr attr);
  // `piper_attr_bool`
  struct PiperAttr (*attr_bool)(const struct PiperModule *module, bool value);
  // `piper_attr_dictionary`
  struct PiperAttr (*attr_dictionary)(const struct PiperModule *module,
                                      const struct PiperNamedAttr *entries,
                                      size_t num_entries);
  // `piper_attr_float`
  struct PiperAttr (*attr_float)(const struct PiperModule *module, double value);
  // `piper_attr_float_of`
  struct PiperAttr (*attr_float_of)(const struct PiperModule *module,
                                    struct PiperType ty,
                                    double value);
  // `piper_attr_int`
  struct PiperAttr (*attr_int)(const struct PiperModule *module, int64_t value);
  // `piper_attr_int_of`
  struct PiperAttr (*attr_int_of)(const struct PiperModule *module,
                                  struct PiperType ty,
                                  int64_t value);
  // `piper_attr_ints`
  struct PiperAttr (*attr_ints)(const struct PiperModule *module,
                                const int64_t *values,
                                size_t num_values);
  // `piper_attr_item`
  struct PiperAttr (*attr_item)(const struct PiperModule *module,
                                struct PiperAttr attr,
                                size_t index);
  // `piper_attr_item_name`
  struct PiperStr (*attr_item_name)(const struct PiperModule *module,
                                    struct PiperAttr attr,
                                    size_t index);
  // `piper_attr_kind`
  uint32_t (*attr_kind)(const struct PiperModule *module, struct PiperAttr attr);
  // `piper_attr_len`
  size_t (*attr_len)(const struct PiperModule *module, struct PiperAttr attr);
  // `piper_attr_parse`
  PiperStatus (*attr_parse)(const struct PiperModule *module,
                            struct PiperStr text,
                            struct PiperAttr *out,
                            struct PiperError **error);
  // `piper_attr_string`
  struct PiperAttr (*attr_string)(const struct PiperModule *module, struct PiperStr text);
  // `piper_attr_symbol`
  struct PiperAttr (*attr_symbol)(const struct PiperModule *module, struct PiperStr name);
  // `piper_attr_text`
  PiperStatus (*attr_text)(const struct PiperModule *module,
                           struct PiperAttr attr,
                           struct PiperString *out);
  // `piper_attr_type`
  struct PiperAttr (*attr_type)(const struct PiperModule *module, struct PiperType ty);
  // `piper_attr_unit`
  struct PiperAttr (*attr_unit)(const struct PiperModule *module);
  // `piper_block_add_arg`
  struct PiperValue (*block_add_arg)(struct PiperModule *module,
                                     struct PiperBlock block,
                                     struct PiperType ty);
  // `piper_block_arg`
  struct PiperValue (*block_arg)(const struct PiperModule *module,
                                 struct PiperBlock block,
                                 size_t index);
  // `piper_block_erase`
  PiperStatus (*block_erase)(struct PiperModule *module, struct PiperBlock block);
  // `piper_block_first_op`
  struct PiperOp (*block_first_op)(const struct PiperModule *module, struct PiperBlock block);
  // `piper_block_last_op`
  struct PiperOp (*block_last_op)(const struct PiperModule *module, struct PiperBlock block);
  // `piper_block_next`
  struct PiperBlock (*block_next)(const struct PiperModule *module, struct PiperBlock block);
  // `piper_block_num_args`
  size_t (*block_num_args)(const struct PiperModule *module, struct PiperBlock block);
  // `piper_block_parent`
  struct PiperOp (*block_parent)(const struct PiperModule *module, struct PiperBlock block);
  // `piper_error_at`
  const struct PiperDiagnostic *(*error_at)(const struct PiperError *error, size_t index);
  // `piper_error_destroy`
  void (*error_destroy)(struct PiperError *error);
  // `piper_error_len`
  size_t (*error_len)(const struct PiperError *error);
  // `piper_error_status`
  PiperStatus (*error_status)(const struct PiperError *error);
  // `piper_error_text`
  struct PiperStr (*error_text)(const struct PiperError *error);
  // `piper_loc_file`
  struct PiperLoc (*loc_file)(const struct PiperModule *module,
                              struct PiperStr file,
                              uint32_t line,
                              uint32_t column);
  // `piper_loc_name`
  struct PiperStr (*loc_name)(const struct PiperModule *module, struct PiperLoc loc);
  // `piper_loc_named`
  struct PiperLoc (*loc_named)(const struct PiperModule *module,
                               struct PiperStr name,
                               struct PiperLoc child);
  // `piper_loc_position`
  bool (*loc_position)(const struct PiperModule *module,
                       struct PiperLoc loc,
                       struct PiperStr *file,
                       uint32_t *line,
                       uint32_t *column);
  // `piper_module_body`
  struct PiperBlock (*module_body)(const struct PiperModule *module);
  // `piper_module_clear_misuse`
  PiperStatus (*module_clear_misuse)(struct PiperModule *module);
  // `piper_module_misuse`
  struct PiperStr (*module_misuse)(const struct PiperModule *module);
  // `piper_module_misuse_status`
  PiperStatus (*module_misuse_status)(const struct PiperModule *module);
  // `piper_module_root`
  struct PiperOp (*module_root)(const struct PiperModule *module);
  // `piper_module_text`
  PiperStatus (*module_text)(const struct PiperModule *module,
                             uint32_t flags,
                             struct PiperString *out);
  // `piper_module_verify`
  PiperStatus (*module_verify)(const struct PiperModule *module, struct PiperError **error);
  // `piper_op_attr`
  struct PiperAttr (*op_attr)(const struct PiperModule *module,
                              struct PiperOp op,
                              struct PiperStr name);
  // `piper_op_attr_at`
  struct PiperNamedAttr (*op_attr_at)(const struct PiperModule *module,
                                      struct PiperOp op,
                                      size_t index);
  // `piper_op_block`
  struct PiperBlock (*op_block)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_copy`
  struct PiperOp (*op_copy)(struct PiperModule *module, struct PiperOp op, struct PiperPlace place);
  // `piper_op_create`
  struct PiperOp (*op_create)(struct PiperModule *module,
                              const struct PiperOpParts *parts,
                              struct PiperPlace place);
  // `piper_op_erase`
  PiperStatus (*op_erase)(struct PiperModule *module, struct PiperOp op);
  // `piper_op_is_alive`
  bool (*op_is_alive)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_loc`
  struct PiperLoc (*op_loc)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_lookup`
  struct PiperOp (*op_lookup)(const struct PiperModule *module,
                              struct PiperOp from,
                              struct PiperStr name);
  // `piper_op_move`
  PiperStatus (*op_move)(struct PiperModule *module, struct PiperOp op, struct PiperPlace place);
  // `piper_op_name`
  struct PiperStr (*op_name)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_next`
  struct PiperOp (*op_next)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_num_attrs`
  size_t (*op_num_attrs)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_num_operands`
  size_t (*op_num_operands)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_num_regions`
  size_t (*op_num_regions)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_num_results`
  size_t (*op_num_results)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_num_successors`
  size_t (*op_num_successors)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_operand`
  struct PiperValue (*op_operand)(const struct PiperModule *module, struct PiperOp op, size_t index);
  // `piper_op_operands_named`
  size_t (*op_operands_named)(const struct PiperModule *module,
                              struct PiperOp op,
                              struct PiperStr name,
                              size_t *first);
  // `piper_op_parent`
  struct PiperOp (*op_parent)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_prev`
  struct PiperOp (*op_prev)(const struct PiperModule *module, struct PiperOp op);
  // `piper_op_region`
  struct PiperRegion (*op_region)(const struct PiperModule *module, struct PiperOp op, size_t index);
  // `piper_op_replace`
  PiperStatus (*op_replace)(struct PiperModule *module,
                            struct PiperOp op,
                            const struct PiperValue *values,
                            size_t num_values);
  // `piper_op_result`
  struct PiperValue (*op_result)(const struct PiperModule *module, struct PiperOp op, size_t index);
  // `piper_op_set_attr`
  PiperStatus (*op_set_attr)(struct PiperModule *module,
                             struct PiperOp op,
                             struct PiperStr name,
                             struct PiperAttr attr);
  // `piper_op_set_loc`
  PiperStatus (*op_set_loc)(struct PiperModule *module, struct PiperOp op, struct PiperLoc loc);
  // `piper_op_set_operand`
  PiperStatus (*op_set_operand)(struct PiperModule *module,
                                struct PiperOp op,
                                size_t index,
                                struct PiperValue value);
  // `piper_op_set_operands`
  PiperStatus (*op_set_operands)(struct PiperModule *module,
                                 struct PiperOp op,
                                 const struct PiperValue *values,
                                 size_t num_values);
  // `piper_op_successor`
  struct PiperBlock (*op_successor)(const struct PiperModule *module,
                                    struct PiperOp op,
                                    size_t index);
  // `piper_op_text`
  PiperStatus (*op_text)(const struct PiperModule *module,
                         struct PiperOp op,
                         uint32_t flags,
                         struct PiperString *out);
  // `piper_pass_count`
  PiperStatus (*pass_count)(struct PiperPass *pass, struct PiperStr name, uint64_t by);
  // `piper_pass_module`
  struct PiperModule *(*pass_module)(struct PiperPass *pass);
  // `piper_pass_note`
  PiperStatus (*pass_note)(struct PiperPass *pass, struct PiperLoc loc, struct PiperStr text);
  // `piper_pass_op`
  struct PiperOp (*pass_op)(struct PiperPass *pass);
  // `piper_pass_option`
  struct PiperStr (*pass_option)(struct PiperPass *pass, struct PiperStr name);
  // `piper_pass_report`
  PiperStatus (*pass_report)(struct PiperPass *pass,
                             uint32_t how_serious,
                             struct PiperLoc loc,
                             struct PiperStr text,
                             struct PiperStr hint);
  // `piper_region_add_block`
  struct PiperBlock (*region_add_block)(struct PiperModule *module, struct PiperRegion region);
  // `piper_region_create`
  struct PiperRegion (*region_create)(struct PiperModule *module);
  // `piper_region_first_block`
  struct PiperBlock (*region_first_block)(const struct PiperModule *module,
                                          struct PiperRegion region);
  // `piper_region_parent`
  struct PiperOp (*region_parent)(const struct PiperModule *module, struct PiperRegion region);
  // `piper_registrar_add_dialects`
  PiperStatus (*registrar_add_dialects)(struct PiperRegistrar *registrar,
                                        struct PiperStr name,
                                        struct PiperStr text);
  // `piper_registrar_add_pass`
  PiperStatus (*registrar_add_pass)(struct PiperRegistrar *registrar,
                                    const struct PiperPassInfo *pass);
  // `piper_string_free`
  void (*string_free)(struct PiperString *string);
  // `piper_type_element`
  struct PiperType (*type_element)(const struct PiperModule *module, struct PiperType ty);
  // `piper_type_extent`
  int64_t (*type_extent)(const struct PiperModule *module, struct PiperType ty, size_t dimension);
  // `piper_type_float`
  struct PiperType (*type_float)(const struct PiperModule *module, struct PiperStr spelling);
  // `piper_type_function`
  struct PiperType (*type_function)(const struct PiperModule *module,
                                    const struct PiperType *inputs,
                                    size_t num_inputs,
                                    const struct PiperType *results,
                                    size_t num_results);
  // `piper_type_input`
  struct PiperType (*type_input)(const struct PiperModule *module, struct PiperType ty, size_t index);
  // `piper_type_integer`
  struct PiperType (*type_integer)(const struct PiperModule *module, uint32_t width);
  // `piper_type_kind`
  uint32_t (*type_kind)(const struct PiperModule *module, struct PiperType ty);
  // `piper_type_num_inputs`
  size_t (*type_num_inputs)(const struct PiperModule *module, struct PiperType ty);
  // `piper_type_num_results`
  size_t (*type_num_results)(const struct PiperModule *module, struct PiperType ty);
  // `piper_type_parse`
  PiperStatus (*type_parse)(const struct PiperModule *module,
                            struct PiperStr text,
                            struct PiperType *out,
                            struct PiperError **error);
  // `piper_type_rank`
  size_t (*type_rank)(const struct PiperModule *module, struct PiperType ty);
  // `piper_type_result`
  struct PiperType (*type_result)(const struct PiperModule *module,
                                  struct PiperType ty,
                                  size_t index);
  // `piper_type_tensor`
  struct PiperType (*type_tensor)(const struct PiperModule *module,
                                  const int64_t *shape,
                                  size_t rank,
                                  struct PiperType element);
  // `piper_type_text`
  PiperStatus (*type_text)(const struct PiperModule *module,
                           struct PiperType ty,
                           struct PiperString *out);
  // `piper_type_width`
  uint32_t (*type_width)(const struct PiperModule *module, struct PiperType ty);
  // `piper_value_block`
  struct PiperBlock (*value_block)(const struct PiperModule *module, struct PiperValue value);
  // `piper_value_index`
  size_t (*value_index)(const struct PiperModule *module, struct PiperValue value);
  // `piper_value_name`
  struct PiperStr (*value_name)(const struct PiperModule *module, struct PiperValue value);
  // `piper_value_op`
  struct PiperOp (*value_op)(const struct PiperModule *module, struct PiperValue value);
  // `piper_value_replace`
  PiperStatus (*value_replace)(struct PiperModule *module,
                               struct PiperValue value,
                               struct PiperValue by);
  // `piper_value_set_name`
  PiperStatus (*value_set_name)(struct PiperModule *module,
                                struct PiperValue value,
                                struct PiperStr name);
  // `piper_value_set_type`
  PiperStatus (*value_set_type)(struct PiperModule *module,
                                struct PiperValue value,
                                struct PiperType ty);
  // `piper_value_type`
  struct PiperType (*value_type)(const struct PiperModule *module, struct PiperValue value);
  // `piper_value_uses`
  size_t (*value_uses)(const struct PiperModule *module,
                       struct PiperValue value,
                       struct PiperUse *out,
                       size_t room);
  // `piper_version`
  struct PiperStr (*version)(void);
  // `piper_walk`
  PiperStatus (*walk)(struct PiperModule *module,
                      struct PiperOp root,
                      uint32_t order,
                      PiperVisit visit,
                      void *user);
  // `piper_walk_next`
  struct PiperOp (*walk_next)(const struct PiperModule *module,
                              struct PiperOp root,
                              struct PiperOp op);
} PiperApi;

// Adds what the plugin has: answers `PIPER_OK`, or anything else to be refused. It must return: no `longjmp` out of it, no
// exception through it.
typedef PiperStatus (*PiperPluginFill)(const struct PiperApi *api, struct PiperRegistrar *registrar);

// The description of a plugin, which lives as long as its library.
typedef struct PiperPlugin {
  // `PIPER_PLUGIN_MAGIC`
  uint64_t magic;
  // `PIPER_ABI_VERSION`
  uint32_t abi;
  // 0
  uint32_t reserved;
  // `sizeof(PiperPlugin)`
  size_t size;
  // How much of the table it needs: `PIPER_API_NEEDS(function)` for the last function that it uses, or `sizeof(PiperApi)`.
  size_t needs;
  // Its name.
  struct PiperStr name;
  // Its version, for people.
  struct PiperStr version;
  // Adds what it has.
  PiperPluginFill fill;
} PiperPlugin;

// The exported function `piper_plugin` of a plugin.
typedef const struct PiperPlugin *(*PiperPluginEntry)(void);

// It did what was asked.
#define PIPER_OK 0

// The input is wrong; diagnostics say what and where.
#define PIPER_FAILED 1

// A pointer is null, or does not point to what it should.
#define PIPER_NULL 2

// A handle is of something erased, of another module, or from before a pipeline ran.
#define PIPER_STALE 3

// A number counts past the end.
#define PIPER_OUT_OF_RANGE 4

// A text is not UTF-8.
#define PIPER_BAD_TEXT 5

// Something stands in the way: a value that is used, a block that has a place already.
#define PIPER_IN_USE 6

// A pass that said that it only reads tried to change the module.
#define PIPER_READ_ONLY 7

// An argument is of the wrong kind: a structure of an unknown size, a type that is no integer.
#define PIPER_WRONG_KIND 8

// A fault of the library, which stopped in the middle: do not use the module any more, and report it.
#define PIPER_PANICKED 9

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, as `0.1.0`. Lives as long as the library. Threads: any.
struct PiperStr piper_version(void);

// The number of the interface that the library has; the header's is `PIPER_ABI_VERSION`. Threads: any.
uint32_t piper_abi_version(void);

// Reads an attribute from text, as `[1, "a"]` or `#dag.tag<"pp", 1>`. `error` may be null. Threads: reader.
PiperStatus piper_attr_parse(const struct PiperModule *module,
                             struct PiperStr text,
                             struct PiperAttr *out,
                             struct PiperError **error);

// An attribute as text, to be freed by the caller. Threads: reader.
PiperStatus piper_attr_text(const struct PiperModule *module,
                            struct PiperAttr attr,
                            struct PiperString *out);

// The unit attribute. Threads: reader.
struct PiperAttr piper_attr_unit(const struct PiperModule *module);

// `true` or `false`. Threads: reader.
struct PiperAttr piper_attr_bool(const struct PiperModule *module, bool value);

// An integer of 64 bits, printed without its type. Threads: reader.
struct PiperAttr piper_attr_int(const struct PiperModule *module, int64_t value);

// The integer of this type (an integer of at most 128 bits, or `index`) whose low bits are those of `value`. Threads: reader.
struct PiperAttr piper_attr_int_of(const struct PiperModule *module,
                                   struct PiperType ty,
                                   int64_t value);

// A floating-point number of 64 bits, printed without its type. Threads: reader.
struct PiperAttr piper_attr_float(const struct PiperModule *module, double value);

// The number of this floating-point type that is nearest to `value`. Threads: reader.
struct PiperAttr piper_attr_float_of(const struct PiperModule *module,
                                     struct PiperType ty,
                                     double value);

// A string. Threads: reader.
struct PiperAttr piper_attr_string(const struct PiperModule *module, struct PiperStr text);

// `@name`. Threads: reader.
struct PiperAttr piper_attr_symbol(const struct PiperModule *module, struct PiperStr name);

// A type as an attribute. Threads: reader.
struct PiperAttr piper_attr_type(const struct PiperModule *module, struct PiperType ty);

// `[items]`. Threads: reader.
struct PiperAttr piper_attr_array(const struct PiperModule *module,
                                  const struct PiperAttr *items,
                                  size_t num_items);

// `{name = attr, ...}`; of entries with one name the last counts. Threads: reader.
struct PiperAttr piper_attr_dictionary(const struct PiperModule *module,
                                       const struct PiperNamedAttr *entries,
                                       size_t num_entries);

// `array<i64: values>`. Threads: reader.
struct PiperAttr piper_attr_ints(const struct PiperModule *module,
                                 const int64_t *values,
                                 size_t num_values);

// The kind of an attribute: one of `PIPER_ATTR_*`. Threads: reader.
uint32_t piper_attr_kind(const struct PiperModule *module, struct PiperAttr attr);

// Whether the attribute is an integer of at most 64 bits or a truth value, and which. Threads: reader.
bool piper_attr_as_int(const struct PiperModule *module,
                       struct PiperAttr attr,
                       int64_t *out);

// Whether the attribute is a floating-point number, and which. Threads: reader.
bool piper_attr_as_float(const struct PiperModule *module, struct PiperAttr attr, double *out);

// The text of a string, or the name of a symbol `@name`; null data for others. Lives as long as the module. Threads: reader.
struct PiperStr piper_attr_as_string(const struct PiperModule *module,
                                     struct PiperAttr attr);

// The type that the attribute is, or that stands behind its colon; none for others. Threads: reader.
struct PiperType piper_attr_as_type(const struct PiperModule *module,
                                    struct PiperAttr attr);

// How many items an array has, entries a dictionary, or integers an `array<i64: ...>`; 0 for others. Threads: reader.
size_t piper_attr_len(const struct PiperModule *module,
                      struct PiperAttr attr);

// An item of an array, or the attribute of a dictionary's entry. Threads: reader.
struct PiperAttr piper_attr_item(const struct PiperModule *module,
                                 struct PiperAttr attr,
                                 size_t index);

// The name of a dictionary's entry; entries are sorted by name. Lives as long as the module. Threads: reader.
struct PiperStr piper_attr_item_name(const struct PiperModule *module,
                                     struct PiperAttr attr,
                                     size_t index);

// The integers of an `array<i64: ...>` or of another integer array: writes as many as there is room for, and says how many
// there are. Threads: reader.
size_t piper_attr_as_ints(const struct PiperModule *module,
                          struct PiperAttr attr,
                          int64_t *out,
                          size_t room);

// The first operation of a block; none if it is empty. Threads: reader.
struct PiperOp piper_block_first_op(const struct PiperModule *module, struct PiperBlock block);

// The last operation of a block: its terminator, if it needs one; none if it is empty. Threads: reader.
struct PiperOp piper_block_last_op(const struct PiperModule *module,
                                   struct PiperBlock block);

// The block after this one in its region; none after the last. Threads: reader.
struct PiperBlock piper_block_next(const struct PiperModule *module, struct PiperBlock block);

// The operation whose region holds the block; none if nothing does. Threads: reader.
struct PiperOp piper_block_parent(const struct PiperModule *module, struct PiperBlock block);

// How many arguments a block has. Threads: reader.
size_t piper_block_num_args(const struct PiperModule *module, struct PiperBlock block);

// An argument of a block. Threads: reader.
struct PiperValue piper_block_arg(const struct PiperModule *module,
                                  struct PiperBlock block,
                                  size_t index);

// Adds an argument to a block. Threads: writer.
struct PiperValue piper_block_add_arg(struct PiperModule *module,
                                      struct PiperBlock block,
                                      struct PiperType ty);

// The first block of a region; none if it is empty. Threads: reader.
struct PiperBlock piper_region_first_block(const struct PiperModule *module,
                                           struct PiperRegion region);

// The operation that owns a region; none if nothing does yet. Threads: reader.
struct PiperOp piper_region_parent(const struct PiperModule *module, struct PiperRegion region);

// A new region that belongs to no operation yet, to be filled and given to `piper_op_create`. Threads: writer.
struct PiperRegion piper_region_create(struct PiperModule *module);

// A new block at the end of a region. Threads: writer.
struct PiperBlock piper_region_add_block(struct PiperModule *module, struct PiperRegion region);

// Erases a block with everything in it. Nothing outside may use its values or branch to it. Threads: writer.
PiperStatus piper_block_erase(struct PiperModule *module,
                              struct PiperBlock block);

// Creates an operation and puts it at its place. Nothing is checked that the verifier checks. Threads: writer.
struct PiperOp piper_op_create(struct PiperModule *module,
                               const struct PiperOpParts *parts,
                               struct PiperPlace place);

// Copies an operation with everything in it and puts the copy at its place. The copy uses the same operands. Threads: writer.
struct PiperOp piper_op_copy(struct PiperModule *module,
                             struct PiperOp op,
                             struct PiperPlace place);

// Moves an operation with everything in it. Threads: writer.
PiperStatus piper_op_move(struct PiperModule *module, struct PiperOp op, struct PiperPlace place);

// Sets an operand. Threads: writer.
PiperStatus piper_op_set_operand(struct PiperModule *module,
                                 struct PiperOp op,
                                 size_t index,
                                 struct PiperValue value);

// Sets the whole list of operands. Threads: writer.
PiperStatus piper_op_set_operands(struct PiperModule *module,
                                  struct PiperOp op,
                                  const struct PiperValue *values,
                                  size_t num_values);

// Sets or adds an attribute; none removes it. Threads: writer.
PiperStatus piper_op_set_attr(struct PiperModule *module,
                              struct PiperOp op,
                              struct PiperStr name,
                              struct PiperAttr attr);

// Sets the operation's location; none is the unknown one. Threads: writer.
PiperStatus piper_op_set_loc(struct PiperModule *module, struct PiperOp op, struct PiperLoc loc);

// Erases an operation with everything in it. Nothing outside may use its results. Its handles, and those of what was in it, are
// stale from now on. Threads: writer.
PiperStatus piper_op_erase(struct PiperModule *module,
                           struct PiperOp op);

// Makes the users of an operation's results use these values, as many and of the same types, and erases it. Threads: writer.
PiperStatus piper_op_replace(struct PiperModule *module,
                             struct PiperOp op,
                             const struct PiperValue *values,
                             size_t num_values);

// A compiler that knows Piper's dialects and passes. Threads: any.
struct PiperCompiler *piper_compiler_create(void);

// Destroys a compiler; null is none. Modules and plans that it made live on. Threads: writer.
void piper_compiler_destroy(struct PiperCompiler *compiler);

// Sets who hears diagnostics: remarks and warnings, and errors, which are in the error as well. It is called on the thread of the
// function that has something to say; null for nobody. Threads: writer.
PiperStatus piper_compiler_listen(struct PiperCompiler *compiler,
                                  PiperListener listener,
                                  void *user);

// Sets whether the module is verified after every pass, which it is unless one says otherwise; after a pass of somebody else it
// always is. Threads: writer.
PiperStatus piper_compiler_verify_each(struct PiperCompiler *compiler,
                                       bool verify_each);

// Adds a pass of the program's own. `error` may be null. Threads: writer.
PiperStatus piper_compiler_add_pass(struct PiperCompiler *compiler,
                                    const struct PiperPassInfo *pass,
                                    struct PiperError **error);

// Loads a plugin, a shared library that stays loaded for ever, and adds all that it has, or nothing. `error` may be null.
// Threads: writer.
PiperStatus piper_compiler_load_plugin(struct PiperCompiler *compiler,
                                       struct PiperStr path,
                                       struct PiperError **error);

// Adds dialects from their definitions in the `irdl` dialect, for modules made from now on; `name` is what messages call the text.
// `error` may be null. Threads: writer.
PiperStatus piper_compiler_add_dialects(struct PiperCompiler *compiler,
                                        struct PiperStr name,
                                        struct PiperStr text,
                                        struct PiperError **error);

// How many passes the compiler knows. Threads: reader.
size_t piper_compiler_num_passes(const struct PiperCompiler *compiler);

// The name of a pass, by number, in the order of names; null data if there are not so many. `summary` gets its summary, and may
// be null. Lives until a pass is added. Threads: reader.
struct PiperStr piper_compiler_pass(const struct PiperCompiler *compiler,
                                    size_t index,
                                    struct PiperStr *summary);

// An empty module, to be built; `name` is what messages call it. Null if there is no compiler. Threads: reader.
struct PiperModule *piper_module_create(const struct PiperCompiler *compiler,
                                        struct PiperStr name);

// A parsed and verified text; `name` is what messages call it. `error` may be null. Threads: reader.
PiperStatus piper_module_parse(const struct PiperCompiler *compiler,
                               struct PiperStr name,
                               struct PiperStr text,
                               struct PiperModule **out,
                               struct PiperError **error);

// As `piper_module_parse`, of a file. Threads: reader.
PiperStatus piper_module_read(const struct PiperCompiler *compiler,
                              struct PiperStr path,
                              struct PiperModule **out,
                              struct PiperError **error);

// A copy, of which types, attributes and locations hold for the other. Null if there is no module. Threads: reader.
struct PiperModule *piper_module_copy(const struct PiperModule *module);

// Destroys a module; null is none. Threads: writer.
void piper_module_destroy(struct PiperModule *module);

// Runs exactly these passes: `canonicalize,cse`, or with anchors, `builtin.module(func.func(cse))`. Handles of operations, values,
// blocks and regions are stale afterwards; after a failure the module is half changed and of no use. `error` may be null.
// Threads: reader of the compiler, writer of the module.
PiperStatus piper_compiler_run(const struct PiperCompiler *compiler,
                               struct PiperModule *module,
                               struct PiperStr pipeline,
                               struct PiperError **error);

// As `piper_compiler_run`, each pass after what it builds on, as `piper-opt --pass` does: `dualpipe`,
// `lower-to-device{probe-gradients=true}`. Threads: reader of the compiler, writer of the module.
PiperStatus piper_compiler_run_with_implied(const struct PiperCompiler *compiler,
                                            struct PiperModule *module,
                                            struct PiperStr passes,
                                            struct PiperError **error);

// All the way from a module at any level to device programs with kernels. The module stays as it is. `options` and `error` may be
// null. Threads: reader.
PiperStatus piper_compiler_compile(const struct PiperCompiler *compiler,
                                   const struct PiperModule *module,
                                   const struct PiperCompileOptions *options,
                                   struct PiperPlan **out,
                                   struct PiperError **error);

// Destroys a plan; null is none. What runs it lives on. Threads: writer.
void piper_plan_destroy(struct PiperPlan *given);

// Reads a `.pplan` file. `error` may be null. Threads: any.
PiperStatus piper_plan_read(struct PiperStr path,
                            struct PiperPlan **out,
                            struct PiperError **error);

// Reads the contents of a `.pplan` file. `error` may be null. Threads: any.
PiperStatus piper_plan_from_bytes(const uint8_t *data,
                                  size_t size,
                                  struct PiperPlan **out,
                                  struct PiperError **error);

// Writes a `.pplan` file. What the interpreter computes is not in it. `error` may be null. Threads: reader.
PiperStatus piper_plan_write(const struct PiperPlan *given,
                             struct PiperStr path,
                             struct PiperError **error);

// The contents of a `.pplan` file, to be freed by the caller. Threads: reader.
PiperStatus piper_plan_bytes(const struct PiperPlan *given, struct PiperString *out);

// The plan as text, to be freed by the caller: its tables, and one program for each class of devices. Threads: reader.
PiperStatus piper_plan_text(const struct PiperPlan *given,
                            struct PiperString *out);

// What each device issues, in order, as text to be freed by the caller. Threads: reader.
PiperStatus piper_plan_launches(const struct PiperPlan *given, struct PiperString *out);

// How many devices the plan is for. Threads: reader.
size_t piper_plan_num_devices(const struct PiperPlan *given);

// How many inputs a step wants. Threads: reader.
size_t piper_plan_num_inputs(const struct PiperPlan *given);

// An input that a step wants: name, shape and type, without data; nothing if there are not so many. Lives as long as the plan.
// Threads: reader.
struct PiperTensor piper_plan_input(const struct PiperPlan *given,
                                    size_t index);

// Plays the programs on a model of a machine, whose file's text `machine` is (docs/simulation.md), and writes what comes out in
// one of the forms `PIPER_SIM_*`, to be freed by the caller. `error` may be null. Threads: reader.
PiperStatus piper_plan_simulate(const struct PiperPlan *given,
                                struct PiperStr machine,
                                uint32_t form,
                                struct PiperString *out,
                                struct PiperError **error);

// Loads a plan on virtual devices, threads of this process, at its initial state. `options` and `error` may be null. Threads:
// reader of the plan.
PiperStatus piper_training_create(const struct PiperPlan *given,
                                  const struct PiperRunOptions *options,
                                  struct PiperTraining **out,
                                  struct PiperError **error);

// Ends a training; null is none. Threads: writer.
void piper_training_destroy(struct PiperTraining *training);

// Takes a step on the global batch: an array for every input of the plan, with its name, shape and type. `error` may be null.
// Threads: writer.
PiperStatus piper_training_step(struct PiperTraining *training,
                                const struct PiperTensor *inputs,
                                size_t num_inputs,
                                struct PiperError **error);

// Steps taken. Threads: reader.
uint64_t piper_training_steps(const struct PiperTraining *training);

// How many outputs the last step had. Threads: reader.
size_t piper_training_num_outputs(const struct PiperTraining *training);

// An output of the last step: an array, or a number as an array of rank 0 of `PIPER_F64`; nothing if there are not so many. Lives
// until the next step. Threads: reader.
struct PiperTensor piper_training_output(const struct PiperTraining *training,
                                         size_t index);

// Whether the last step had a number of this name, as `loss`, and which. Threads: reader.
bool piper_training_number(const struct PiperTraining *training, struct PiperStr name, double *out);

// How many parameters and parts of the optimizer's state there are. Threads: reader.
size_t piper_training_num_states(const struct PiperTraining *training);

// The name of a parameter or a part of the optimizer's state, as `w` and `w.m`; null data if there are not so many. Lives as long
// as the training. Threads: reader.
struct PiperStr piper_training_state_name(const struct PiperTraining *training,
                                          size_t index);

// A parameter or a part of the optimizer's state, gathered from where its shards are. Lives until it is asked for again or set,
// or the next step. `error` may be null. Threads: writer.
PiperStatus piper_training_state(struct PiperTraining *training,
                                 struct PiperStr name,
                                 struct PiperTensor *out,
                                 struct PiperError **error);

// Sets a parameter or a part of the optimizer's state, wherever its shards are. `error` may be null. Threads: writer.
PiperStatus piper_training_set_state(struct PiperTraining *training,
                                     const struct PiperTensor *tensor,
                                     struct PiperError **error);

// Bytes of a device's memory: as planned, and as used so far. Each pointer may be null. Whether there is such a device. Threads:
// reader.
bool piper_training_memory(const struct PiperTraining *training,
                           size_t device,
                           uint64_t *planned,
                           uint64_t *used);

// The steps so far as a trace for Perfetto, to be freed by the caller; the training was made with `trace`. Threads: reader.
PiperStatus piper_training_trace(const struct PiperTraining *training,
                                 struct PiperString *out);

// The location `file`, line and column, both from 1; columns count bytes. Threads: reader.
struct PiperLoc piper_loc_file(const struct PiperModule *module,
                               struct PiperStr file,
                               uint32_t line,
                               uint32_t column);

// A location with a name in front of another, which may be none. Threads: reader.
struct PiperLoc piper_loc_named(const struct PiperModule *module,
                                struct PiperStr name,
                                struct PiperLoc child);

// The first file position inside a location: whether there is one, and which. `file` lives as long as the module; each of the
// pointers may be null. Threads: reader.
bool piper_loc_position(const struct PiperModule *module,
                        struct PiperLoc loc,
                        struct PiperStr *file,
                        uint32_t *line,
                        uint32_t *column);

// The name of a named location, as `loc("name"(...))`; null data if it has none. Lives as long as the module. Threads: reader.
struct PiperStr piper_loc_name(const struct PiperModule *module,
                               struct PiperLoc loc);

// The outermost operation, a `builtin.module`. Threads: reader.
struct PiperOp piper_module_root(const struct PiperModule *module);

// The block of the outermost operation. Threads: reader.
struct PiperBlock piper_module_body(const struct PiperModule *module);

// The module as text, to be freed by the caller; `flags` are `PIPER_PRINT_*`. Threads: reader.
PiperStatus piper_module_text(const struct PiperModule *module,
                              uint32_t flags,
                              struct PiperString *out);

// An operation as text, to be freed by the caller; `flags` are `PIPER_PRINT_*`. Threads: reader.
PiperStatus piper_op_text(const struct PiperModule *module,
                          struct PiperOp op,
                          uint32_t flags,
                          struct PiperString *out);

// Checks the module, as pipelines do before and after every pass. `error` may be null. Threads: reader.
PiperStatus piper_module_verify(const struct PiperModule *module,
                                struct PiperError **error);

// The first misuse of the module since it was made or `piper_module_clear_misuse`: a function that could not do what it was
// asked answers with "nothing" or a status, and leaves here which function it was and why. Null data if there was none. Lives
// until the next call with this module that changes it. A pass that leaves a misuse behind has failed. Threads: reader.
struct PiperStr piper_module_misuse(const struct PiperModule *module);

// The status of that misuse; `PIPER_OK` if there was none. Threads: reader.
PiperStatus piper_module_misuse_status(const struct PiperModule *module);

// Forgets the misuse. Threads: writer.
PiperStatus piper_module_clear_misuse(struct PiperModule *module);

// Whether the handle is of an operation of this module that lives. Never counts as misuse. Threads: reader.
bool piper_op_is_alive(const struct PiperModule *module,
                       struct PiperOp op);

// The operation's name, as `nn.linear`. Lives as long as the module. Threads: reader.
struct PiperStr piper_op_name(const struct PiperModule *module, struct PiperOp op);

// The operation's location. Threads: reader.
struct PiperLoc piper_op_loc(const struct PiperModule *module, struct PiperOp op);

// The block the operation stands in; none for the root and for what stands nowhere. Threads: reader.
struct PiperBlock piper_op_block(const struct PiperModule *module,
                                 struct PiperOp op);

// The operation whose region holds this one; none for the root. Threads: reader.
struct PiperOp piper_op_parent(const struct PiperModule *module, struct PiperOp op);

// The operation after this one in its block; none after the last. Threads: reader.
struct PiperOp piper_op_next(const struct PiperModule *module, struct PiperOp op);

// The operation before this one in its block; none before the first. Threads: reader.
struct PiperOp piper_op_prev(const struct PiperModule *module, struct PiperOp op);

// How many operands the operation has. Threads: reader.
size_t piper_op_num_operands(const struct PiperModule *module, struct PiperOp op);

// An operand. Threads: reader.
struct PiperValue piper_op_operand(const struct PiperModule *module,
                                   struct PiperOp op,
                                   size_t index);

// How many operands the operand that is declared by this name stands for, and the first of them: 0 if the operation is not
// registered, declares no such operand, or leaves it out. `first` may be null. Threads: reader.
size_t piper_op_operands_named(const struct PiperModule *module,
                               struct PiperOp op,
                               struct PiperStr name,
                               size_t *first);

// How many results the operation has. Threads: reader.
size_t piper_op_num_results(const struct PiperModule *module, struct PiperOp op);

// A result. Threads: reader.
struct PiperValue piper_op_result(const struct PiperModule *module,
                                  struct PiperOp op,
                                  size_t index);

// How many regions the operation has. Threads: reader.
size_t piper_op_num_regions(const struct PiperModule *module, struct PiperOp op);

// A region. Threads: reader.
struct PiperRegion piper_op_region(const struct PiperModule *module,
                                   struct PiperOp op,
                                   size_t index);

// How many blocks a terminator may go on to. Threads: reader.
size_t piper_op_num_successors(const struct PiperModule *module, struct PiperOp op);

// A block that a terminator may go on to. Threads: reader.
struct PiperBlock piper_op_successor(const struct PiperModule *module,
                                     struct PiperOp op,
                                     size_t index);

// The attribute of this name; none if the operation has none. Threads: reader.
struct PiperAttr piper_op_attr(const struct PiperModule *module,
                               struct PiperOp op,
                               struct PiperStr name);

// How many attributes the operation has. Threads: reader.
size_t piper_op_num_attrs(const struct PiperModule *module, struct PiperOp op);

// An attribute by number: declared ones first. Threads: reader.
struct PiperNamedAttr piper_op_attr_at(const struct PiperModule *module,
                                       struct PiperOp op,
                                       size_t index);

// The operation with this `sym_name` in the nearest symbol table around `from`, itself included; none if there is none.
// Threads: reader.
struct PiperOp piper_op_lookup(const struct PiperModule *module,
                               struct PiperOp from,
                               struct PiperStr name);

// The module that the pass works on. Threads: the pass's.
struct PiperModule *piper_pass_module(struct PiperPass *pass);

// The operation that the pass works on: the module's outermost one, unless the pass says otherwise. Threads: the pass's.
struct PiperOp piper_pass_op(struct PiperPass *pass);

// The value of an option, given or its default; null data if it has neither. Lives as long as the pass runs. Threads: the
// pass's.
struct PiperStr piper_pass_option(struct PiperPass *pass,
                                  struct PiperStr name);

// Reports something: an error (the pass then fails), a warning or a remark, at a location. `hint` says what to do about it; null
// data for none. Threads: the pass's.
PiperStatus piper_pass_report(struct PiperPass *pass,
                              uint32_t how_serious,
                              struct PiperLoc loc,
                              struct PiperStr text,
                              struct PiperStr hint);

// Adds a fact, at a place of its own, to what was reported last. Threads: the pass's.
PiperStatus piper_pass_note(struct PiperPass *pass, struct PiperLoc loc, struct PiperStr text);

// Adds to a number that tools show under statistics. Threads: the pass's.
PiperStatus piper_pass_count(struct PiperPass *pass, struct PiperStr name, uint64_t by);

// Adds a pass. Threads: the one that asks the plugin.
PiperStatus piper_registrar_add_pass(struct PiperRegistrar *registrar,
                                     const struct PiperPassInfo *pass);

// Adds dialects from their definitions in the `irdl` dialect; `name` is what messages call the text. Threads: the one that asks
// the plugin.
PiperStatus piper_registrar_add_dialects(struct PiperRegistrar *registrar,
                                         struct PiperStr name,
                                         struct PiperStr text);

// The status that the function gave. Threads: reader.
PiperStatus piper_error_status(const struct PiperError *error);

// All of it with the source lines, as the tools print it; ends with a line break. Lives as long as the error. Threads: reader.
struct PiperStr piper_error_text(const struct PiperError *error);

// How many diagnostics it has. Threads: reader.
size_t piper_error_len(const struct PiperError *error);

// A diagnostic of it; null if there are not so many. Lives as long as the error. Threads: reader.
const struct PiperDiagnostic *piper_error_at(const struct PiperError *error, size_t index);

// Destroys an error; null is none. Threads: any, each its own error.
void piper_error_destroy(struct PiperError *error);

// Frees what a function gave, and makes it null, so that freeing it again does nothing. Threads: any, each on its own string.
void piper_string_free(struct PiperString *string);

// Reads a type from text, as `tensor<4xf32>`. `error` may be null. Threads: reader.
PiperStatus piper_type_parse(const struct PiperModule *module,
                             struct PiperStr text,
                             struct PiperType *out,
                             struct PiperError **error);

// A type as text, to be freed by the caller. Threads: reader.
PiperStatus piper_type_text(const struct PiperModule *module,
                            struct PiperType ty,
                            struct PiperString *out);

// The signless integer type of a width in bits, from 1 to 128. Threads: reader.
struct PiperType piper_type_integer(const struct PiperModule *module, uint32_t width);

// The floating-point type that is spelt so, as `bf16`. Threads: reader.
struct PiperType piper_type_float(const struct PiperModule *module, struct PiperStr spelling);

// The ranked tensor type of these extents, each at least 0 or `PIPER_DYNAMIC`. Threads: reader.
struct PiperType piper_type_tensor(const struct PiperModule *module,
                                   const int64_t *shape,
                                   size_t rank,
                                   struct PiperType element);

// The function type `(inputs) -> results`. Threads: reader.
struct PiperType piper_type_function(const struct PiperModule *module,
                                     const struct PiperType *inputs,
                                     size_t num_inputs,
                                     const struct PiperType *results,
                                     size_t num_results);

// The kind of a type: one of `PIPER_TYPE_*`. Threads: reader.
uint32_t piper_type_kind(const struct PiperModule *module, struct PiperType ty);

// Bits of an integer or floating-point type; 0 for others. Threads: reader.
uint32_t piper_type_width(const struct PiperModule *module, struct PiperType ty);

// How many dimensions a ranked tensor, vector or memory reference has; 0 for others. Threads: reader.
size_t piper_type_rank(const struct PiperModule *module,
                       struct PiperType ty);

// The extent of a dimension, or `PIPER_DYNAMIC`; 0 where there is none. Threads: reader.
int64_t piper_type_extent(const struct PiperModule *module, struct PiperType ty, size_t dimension);

// The type of the elements of a tensor, vector or memory reference; none for others. Threads: reader.
struct PiperType piper_type_element(const struct PiperModule *module,
                                    struct PiperType ty);

// How many inputs a function type has; 0 for others. Threads: reader.
size_t piper_type_num_inputs(const struct PiperModule *module, struct PiperType ty);

// An input of a function type. Threads: reader.
struct PiperType piper_type_input(const struct PiperModule *module,
                                  struct PiperType ty,
                                  size_t index);

// How many results a function type has; 0 for others. Threads: reader.
size_t piper_type_num_results(const struct PiperModule *module, struct PiperType ty);

// A result of a function type. Threads: reader.
struct PiperType piper_type_result(const struct PiperModule *module,
                                   struct PiperType ty,
                                   size_t index);

// The value's type. Threads: reader.
struct PiperType piper_value_type(const struct PiperModule *module, struct PiperValue value);

// Sets the value's type. Threads: writer.
PiperStatus piper_value_set_type(struct PiperModule *module,
                                 struct PiperValue value,
                                 struct PiperType ty);

// The operation whose result the value is; none for an argument of a block. Threads: reader.
struct PiperOp piper_value_op(const struct PiperModule *module, struct PiperValue value);

// The block whose argument the value is; none for a result. Threads: reader.
struct PiperBlock piper_value_block(const struct PiperModule *module, struct PiperValue value);

// The number of the result or argument that the value is. Threads: reader.
size_t piper_value_index(const struct PiperModule *module, struct PiperValue value);

// The name that the value is printed with, without `%`; null data if it has none. Lives as long as the module. Threads: reader.
struct PiperStr piper_value_name(const struct PiperModule *module,
                                 struct PiperValue value);

// Sets the name that the value is printed with, which the printer makes unique. Threads: writer.
PiperStatus piper_value_set_name(struct PiperModule *module,
                                 struct PiperValue value,
                                 struct PiperStr name);

// The value's uses, latest first: writes as many as there is room for, and says how many there are. Threads: reader.
size_t piper_value_uses(const struct PiperModule *module,
                        struct PiperValue value,
                        struct PiperUse *out,
                        size_t room);

// Makes all users of a value use another one of the same type. Threads: writer.
PiperStatus piper_value_replace(struct PiperModule *module,
                                struct PiperValue value,
                                struct PiperValue by);

// Calls `visit` with `root` and every operation in it. `visit` may change the module: what it erases before its turn is not
// visited, nor is what it adds. Threads: writer if `visit` changes the module, else reader.
PiperStatus piper_walk(struct PiperModule *module,
                       struct PiperOp root,
                       uint32_t order,
                       PiperVisit visit,
                       void *user);

// The operation after `op` in a walk of `root`, outer first: the first one in it, else the next one; none at the end. Begin
// with `root`. Threads: reader.
struct PiperOp piper_walk_next(const struct PiperModule *module,
                               struct PiperOp root,
                               struct PiperOp op);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

// ---- conveniences -------------------------------------------------------------------------------------------------------

// A text from a string that ends with a NUL.
static inline PiperStr piper_str(const char *text) {
  PiperStr view;
  view.data = text;
  view.len = text == NULL ? 0 : strlen(text);
  return view;
}

// A text from a literal, as an initializer: `PiperStr name = PIPER_LITERAL("mine");`
#define PIPER_LITERAL(text) {(text), sizeof(text) - 1}

// Whether two texts are equal.
static inline bool piper_str_is(PiperStr view, const char *text) {
  const size_t len = strlen(text);
  return view.len == len && (len == 0 || memcmp(view.data, text, len) == 0);
}

// Whether a text is a decimal number that fits, and which: for options of passes. (Texts do not end with a NUL, so strtol is none.)
static inline bool piper_str_int(PiperStr view, int64_t *out) {
  const bool is_negative = view.len > 0 && view.data[0] == '-';
  size_t at = is_negative ? 1 : 0;
  int64_t value = 0;
  if (at == view.len) return false;
  for (; at < view.len; at++) {
    const int digit = view.data[at] - '0';
    if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10) return false;
    value = 10 * value + digit;
  }
  *out = is_negative ? -value : value;
  return true;
}

static inline PiperPlace piper_place_(uint32_t kind, PiperBlock block, PiperOp op) {
  PiperPlace place;
  place.kind = kind;
  place.block = block;
  place.op = op;
  return place;
}

// Nowhere: what is created stands in no block yet.
static inline PiperPlace piper_nowhere(void) {
  const PiperBlock no_block = {0};
  const PiperOp no_op = {0};
  return piper_place_(PIPER_NOWHERE, no_block, no_op);
}

// At the beginning of a block.
static inline PiperPlace piper_at_start(PiperBlock block) {
  const PiperOp no_op = {0};
  return piper_place_(PIPER_AT_START, block, no_op);
}

// At the end of a block.
static inline PiperPlace piper_at_end(PiperBlock block) {
  const PiperOp no_op = {0};
  return piper_place_(PIPER_AT_END, block, no_op);
}

// Before an operation.
static inline PiperPlace piper_before(PiperOp op) {
  const PiperBlock no_block = {0};
  return piper_place_(PIPER_BEFORE, no_block, op);
}

// After an operation.
static inline PiperPlace piper_after(PiperOp op) {
  const PiperBlock no_block = {0};
  return piper_place_(PIPER_AFTER, no_block, op);
}

// ---- plugins ------------------------------------------------------------------------------------------------------------
//
// A plugin is a shared library that exports `const PiperPlugin *piper_plugin(void)`. This is all of one:
//
//     #define PIPER_PLUGIN  // calls go through the table, so nothing of Piper is linked
//     #include "piper.h"
//
//     static PiperStatus run(void *user, PiperPass *pass) { ... }
//
//     static PiperStatus fill(PiperRegistrar *registrar) {
//       PiperPassInfo info = {0};
//       info.size = sizeof info;
//       info.name = piper_str("my-pass");
//       info.run = run;
//       return piper_registrar_add_pass(registrar, &info);
//     }
//
//     PIPER_DEFINE_PLUGIN("mine", "1.0", fill)
//
// Build it with `cc -shared -fPIC -o libmine.so mine.c`; use it with `piper-opt --load-plugin=./libmine.so --pass my-pass`.
// Functions are only ever added to the end of the table, so it works with every later version of Piper. It works with earlier
// ones, too, that have the functions it uses: say before the include which is the last one of them in the table, as
// `#define PIPER_PLUGIN_NEEDS PIPER_API_NEEDS(pass_report)`.

// How much of the table a plugin needs whose last function is this one.
#define PIPER_API_NEEDS(function) (offsetof(PiperApi, function) + sizeof(void (*)(void)))

#ifdef PIPER_PLUGIN

#ifndef PIPER_PLUGIN_NEEDS
#define PIPER_PLUGIN_NEEDS sizeof(PiperApi)
#endif

#ifdef __cplusplus
#define PIPER_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define PIPER_EXPORT __attribute__((visibility("default")))
#endif

// The table, from the moment that the plugin is asked what it has.
extern const PiperApi *piper_api __attribute__((visibility("hidden")));

#define PIPER_DEFINE_PLUGIN(plugin_name, plugin_version, fill_function)                   \
  const PiperApi *piper_api;                                                              \
  static PiperStatus piper_fill_(const PiperApi *api, PiperRegistrar *registrar) {        \
    piper_api = api;                                                                      \
    return fill_function(registrar);                                                      \
  }                                                                                       \
  PIPER_EXPORT const PiperPlugin *piper_plugin(void);                                     \
  PIPER_EXPORT const PiperPlugin *piper_plugin(void) {                                    \
    static const PiperPlugin plugin = {PIPER_PLUGIN_MAGIC,  PIPER_ABI_VERSION,            \
                                       0,                   sizeof(PiperPlugin),          \
                                       PIPER_PLUGIN_NEEDS,  PIPER_LITERAL(plugin_name),   \
                                       PIPER_LITERAL(plugin_version), piper_fill_};       \
    return &plugin;                                                                       \
  }

#define piper_abi_version (piper_api->abi_version)
#define piper_attr_array (piper_api->attr_array)
#define piper_attr_as_float (piper_api->attr_as_float)
#define piper_attr_as_int (piper_api->attr_as_int)
#define piper_attr_as_ints (piper_api->attr_as_ints)
#define piper_attr_as_string (piper_api->attr_as_string)
#define piper_attr_as_type (piper_api->attr_as_type)
#define piper_attr_bool (piper_api->attr_bool)
#define piper_attr_dictionary (piper_api->attr_dictionary)
#define piper_attr_float (piper_api->attr_float)
#define piper_attr_float_of (piper_api->attr_float_of)
#define piper_attr_int (piper_api->attr_int)
#define piper_attr_int_of (piper_api->attr_int_of)
#define piper_attr_ints (piper_api->attr_ints)
#define piper_attr_item (piper_api->attr_item)
#define piper_attr_item_name (piper_api->attr_item_name)
#define piper_attr_kind (piper_api->attr_kind)
#define piper_attr_len (piper_api->attr_len)
#define piper_attr_parse (piper_api->attr_parse)
#define piper_attr_string (piper_api->attr_string)
#define piper_attr_symbol (piper_api->attr_symbol)
#define piper_attr_text (piper_api->attr_text)
#define piper_attr_type (piper_api->attr_type)
#define piper_attr_unit (piper_api->attr_unit)
#define piper_block_add_arg (piper_api->block_add_arg)
#define piper_block_arg (piper_api->block_arg)
#define piper_block_erase (piper_api->block_erase)
#define piper_block_first_op (piper_api->block_first_op)
#define piper_block_last_op (piper_api->block_last_op)
#define piper_block_next (piper_api->block_next)
#define piper_block_num_args (piper_api->block_num_args)
#define piper_block_parent (piper_api->block_parent)
#define piper_error_at (piper_api->error_at)
#define piper_error_destroy (piper_api->error_destroy)
#define piper_error_len (piper_api->error_len)
#define piper_error_status (piper_api->error_status)
#define piper_error_text (piper_api->error_text)
#define piper_loc_file (piper_api->loc_file)
#define piper_loc_name (piper_api->loc_name)
#define piper_loc_named (piper_api->loc_named)
#define piper_loc_position (piper_api->loc_position)
#define piper_module_body (piper_api->module_body)
#define piper_module_clear_misuse (piper_api->module_clear_misuse)
#define piper_module_misuse (piper_api->module_misuse)
#define piper_module_misuse_status (piper_api->module_misuse_status)
#define piper_module_root (piper_api->module_root)
#define piper_module_text (piper_api->module_text)
#define piper_module_verify (piper_api->module_verify)
#define piper_op_attr (piper_api->op_attr)
#define piper_op_attr_at (piper_api->op_attr_at)
#define piper_op_block (piper_api->op_block)
#define piper_op_copy (piper_api->op_copy)
#define piper_op_create (piper_api->op_create)
#define piper_op_erase (piper_api->op_erase)
#define piper_op_is_alive (piper_api->op_is_alive)
#define piper_op_loc (piper_api->op_loc)
#define piper_op_lookup (piper_api->op_lookup)
#define piper_op_move (piper_api->op_move)
#define piper_op_name (piper_api->op_name)
#define piper_op_next (piper_api->op_next)
#define piper_op_num_attrs (piper_api->op_num_attrs)
#define piper_op_num_operands (piper_api->op_num_operands)
#define piper_op_num_regions (piper_api->op_num_regions)
#define piper_op_num_results (piper_api->op_num_results)
#define piper_op_num_successors (piper_api->op_num_successors)
#define piper_op_operand (piper_api->op_operand)
#define piper_op_operands_named (piper_api->op_operands_named)
#define piper_op_parent (piper_api->op_parent)
#define piper_op_prev (piper_api->op_prev)
#define piper_op_region (piper_api->op_region)
#define piper_op_replace (piper_api->op_replace)
#define piper_op_result (piper_api->op_result)
#define piper_op_set_attr (piper_api->op_set_attr)
#define piper_op_set_loc (piper_api->op_set_loc)
#define piper_op_set_operand (piper_api->op_set_operand)
#define piper_op_set_operands (piper_api->op_set_operands)
#define piper_op_successor (piper_api->op_successor)
#define piper_op_text (piper_api->op_text)
#define piper_pass_count (piper_api->pass_count)
#define piper_pass_module (piper_api->pass_module)
#define piper_pass_note (piper_api->pass_note)
#define piper_pass_op (piper_api->pass_op)
#define piper_pass_option (piper_api->pass_option)
#define piper_pass_report (piper_api->pass_report)
#define piper_region_add_block (piper_api->region_add_block)
#define piper_region_create (piper_api->region_create)
#define piper_region_first_block (piper_api->region_first_block)
#define piper_region_parent (piper_api->region_parent)
#define piper_registrar_add_dialects (piper_api->registrar_add_dialects)
#define piper_registrar_add_pass (piper_api->registrar_add_pass)
#define piper_string_free (piper_api->string_free)
#define piper_type_element (piper_api->type_element)
#define piper_type_extent (piper_api->type_extent)
#define piper_type_float (piper_api->type_float)
#define piper_type_function (piper_api->type_function)
#define piper_type_input (piper_api->type_input)
#define piper_type_integer (piper_api->type_integer)
#define piper_type_kind (piper_api->type_kind)
#define piper_type_num_inputs (piper_api->type_num_inputs)
#define piper_type_num_results (piper_api->type_num_results)
#define piper_type_parse (piper_api->type_parse)
#define piper_type_rank (piper_api->type_rank)
#define piper_type_result (piper_api->type_result)
#define piper_type_tensor (piper_api->type_tensor)
#define piper_type_text (piper_api->type_text)
#define piper_type_width (piper_api->type_width)
#define piper_value_block (piper_api->value_block)
#define piper_value_index (piper_api->value_index)
#define piper_value_name (piper_api->value_name)
#define piper_value_op (piper_api->value_op)
#define piper_value_replace (piper_api->value_replace)
#define piper_value_set_name (piper_api->value_set_name)
#define piper_value_set_type (piper_api->value_set_type)
#define piper_value_type (piper_api->value_type)
#define piper_value_uses (piper_api->value_uses)
#define piper_version (piper_api->version)
#define piper_walk (piper_api->walk)
#define piper_walk_next (piper_api->walk_next)

#endif  /* PIPER_PLUGIN */

#endif  /* PIPER_H */
