// What must not be done, done: every answer is "nothing" or a status, and the module is as it was.
#include "piper.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(EXIT_FAILURE);                                            \
    }                                                                \
  } while (0)

// The call gives nothing, and leaves this status with the module.
#define MISUSES(module, call, status)                       \
  do {                                                      \
    piper_module_clear_misuse(module);                      \
    CHECK(!(call));                                         \
    CHECK(piper_module_misuse_status(module) == (status));  \
    CHECK(piper_module_misuse(module).len > 0);             \
  } while (0)

static const char *const TEXT =
    "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %a = nn.gelu %x : tensor<4xf32>\n"
    "  %b = nn.gelu %a : tensor<4xf32>\n"
    "  func.return %b : tensor<4xf32>\n"
    "}\n";

static PiperModule *parsed(const PiperCompiler *compiler) {
  PiperModule *module = NULL;
  CHECK(piper_module_parse(compiler, piper_str("f.pir"), piper_str(TEXT), &module, NULL) == PIPER_OK);
  return module;
}

static PiperOp op_at(const PiperModule *module, unsigned number) {
  PiperOp op = piper_module_root(module);
  const PiperOp root = op;
  while (number-- > 0) op = piper_walk_next(module, root, op);
  return op;
}

static uint32_t erase_next(void *user, PiperModule *module, PiperOp op) {
  unsigned *visited = (unsigned *)user;
  ++*visited;
  if (!piper_str_is(piper_op_name(module, op), "nn.gelu")) return PIPER_WALK_ON;
  // Both layers go while the walk stands at the first one.
  const PiperOp second = piper_op_next(module, op);
  const PiperValue x = piper_op_operand(module, op, 0);
  CHECK(piper_op_replace(module, second, &x, 1) == PIPER_OK);
  CHECK(piper_op_replace(module, op, &x, 1) == PIPER_OK);
  return PIPER_WALK_ON;
}

int main(void) {
  PiperCompiler *compiler = piper_compiler_create();
  PiperModule *module = parsed(compiler), *other = parsed(compiler);
  const PiperOp root = piper_module_root(module), function = op_at(module, 1);
  const PiperOp first = op_at(module, 2), second = op_at(module, 3);
  const PiperValue a = piper_op_result(module, first, 0);

  // Another module's, beyond the end, made up.
  MISUSES(other, piper_op_name(other, first).len, PIPER_STALE);
  MISUSES(other, piper_value_type(other, a).bits, PIPER_STALE);
  MISUSES(other, piper_op_set_attr(other, first, piper_str("n"), piper_attr_int(other, 1)) == PIPER_OK, PIPER_STALE);
  MISUSES(module, piper_op_operand(module, first, 1).bits, PIPER_OUT_OF_RANGE);
  MISUSES(module, piper_op_result(module, first, 1000).bits, PIPER_OUT_OF_RANGE);
  MISUSES(module, piper_op_region(module, first, 0).bits, PIPER_OUT_OF_RANGE);
  MISUSES(module, piper_op_attr_at(module, first, 0).attr.bits, PIPER_OUT_OF_RANGE);
  const PiperOp made_up = {first.bits + 1000};
  MISUSES(module, piper_op_name(module, made_up).len, PIPER_STALE);
  CHECK(!piper_op_is_alive(module, made_up));
  const PiperType no_type = {0};
  MISUSES(module, piper_type_tensor(module, NULL, 0, no_type).bits, PIPER_STALE);
  MISUSES(module, piper_type_integer(module, 4096).bits, PIPER_OUT_OF_RANGE);
  const int64_t negative[] = {-3};
  MISUSES(module, piper_type_tensor(module, negative, 1, piper_type_integer(module, 32)).bits, PIPER_OUT_OF_RANGE);
  MISUSES(module, piper_type_float(module, piper_str("f31")).bits, PIPER_WRONG_KIND);
  MISUSES(module, piper_attr_int_of(module, piper_type_float(module, piper_str("f32")), 1).bits, PIPER_WRONG_KIND);
  const char bytes[] = {'a', (char)0xff};
  PiperStr no_text;
  no_text.data = bytes;
  no_text.len = 2;
  MISUSES(module, piper_attr_string(module, no_text).bits, PIPER_BAD_TEXT);

  // What is used stays; what is somewhere is not put elsewhere as well.
  MISUSES(module, piper_op_erase(module, first) == PIPER_OK, PIPER_IN_USE);
  MISUSES(module, piper_op_erase(module, root) == PIPER_OK, PIPER_IN_USE);
  MISUSES(module, piper_value_replace(module, a, a) == PIPER_OK, PIPER_IN_USE);
  MISUSES(module, piper_op_replace(module, first, &a, 1) == PIPER_OK, PIPER_IN_USE);
  MISUSES(module, piper_op_replace(module, first, &a, 0) == PIPER_OK, PIPER_OUT_OF_RANGE);
  MISUSES(module, piper_op_move(module, function, piper_before(first)) == PIPER_OK, PIPER_IN_USE);
  MISUSES(module, piper_op_move(module, first, piper_before(first)) == PIPER_OK, PIPER_IN_USE);
  MISUSES(module, piper_op_move(module, first, piper_after(root)) == PIPER_OK, PIPER_IN_USE);
  const PiperRegion region = piper_op_region(module, function, 0);
  const PiperBlock block = piper_region_first_block(module, region);
  PiperOpParts parts = {0};
  parts.size = sizeof parts;
  parts.name = piper_str("t.op");
  parts.regions = &region;
  parts.num_regions = 1;
  MISUSES(module, piper_op_create(module, &parts, piper_at_end(block)).bits, PIPER_IN_USE);
  parts.num_regions = 0;
  parts.size = 3;
  MISUSES(module, piper_op_create(module, &parts, piper_at_end(block)).bits, PIPER_WRONG_KIND);
  parts.size = sizeof parts;
  PiperPlace nowhere = piper_nowhere();
  nowhere.kind = 77;
  MISUSES(module, piper_op_create(module, &parts, nowhere).bits, PIPER_OUT_OF_RANGE);
  MISUSES(module, piper_op_create(module, NULL, piper_nowhere()).bits, PIPER_NULL);
  // A layer whose result types cannot be inferred says why.
  parts.name = piper_str("nn.linear");
  MISUSES(module, piper_op_create(module, &parts, piper_at_end(block)).bits, PIPER_WRONG_KIND);

  // What stands nowhere may be put somewhere, or erased.
  parts.name = piper_str("t.op");
  const PiperOp loose = piper_op_create(module, &parts, piper_nowhere());
  CHECK(loose.bits != 0 && piper_op_block(module, loose).bits == 0);
  MISUSES(module, piper_op_move(module, first, piper_before(loose)) == PIPER_OK, PIPER_IN_USE);
  CHECK(piper_op_erase(module, loose) == PIPER_OK);
  CHECK(!piper_op_is_alive(module, loose));
  piper_module_clear_misuse(module);
  CHECK(piper_module_verify(module, NULL) == PIPER_OK);

  // Erased while a walk stands there; everything of it is stale.
  unsigned visited = 0;
  CHECK(piper_walk(module, root, PIPER_OUTER_FIRST, erase_next, &visited) == PIPER_OK);
  CHECK(visited == 4);
  CHECK(piper_module_misuse_status(module) == PIPER_OK);
  MISUSES(module, piper_op_name(module, second).len, PIPER_STALE);
  MISUSES(module, piper_op_num_operands(module, first), PIPER_STALE);
  MISUSES(module, piper_value_type(module, a).bits, PIPER_STALE);
  MISUSES(module, piper_op_erase(module, first) == PIPER_OK, PIPER_STALE);
  MISUSES(module, piper_op_move(module, first, piper_at_end(block)) == PIPER_OK, PIPER_STALE);
  CHECK(piper_module_verify(module, NULL) == PIPER_OK);

  // Blocks: what branches from outside, or uses, keeps them.
  const PiperOp whole = op_at(other, 1);
  const PiperRegion inside = piper_op_region(other, whole, 0);
  const PiperBlock entry = piper_region_first_block(other, inside);
  const PiperValue x = piper_block_arg(other, entry, 0);
  CHECK(piper_block_erase(other, entry) == PIPER_OK);
  MISUSES(other, piper_value_type(other, x).bits, PIPER_STALE);
  MISUSES(other, piper_block_first_op(other, entry).bits, PIPER_STALE);
  CHECK(piper_op_erase(other, whole) == PIPER_OK);
  MISUSES(other, piper_region_first_block(other, inside).bits, PIPER_STALE);

  // A pipeline makes handles stale, and types not.
  const PiperType type = piper_type_integer(module, 32);
  const PiperOp before = op_at(module, 1);
  PiperError *error = NULL;
  CHECK(piper_compiler_run(compiler, module, piper_str("canonicalize"), &error) == PIPER_OK);
  MISUSES(module, piper_op_name(module, before).len, PIPER_STALE);
  CHECK(piper_type_width(module, type) == 32);
  CHECK(piper_str_is(piper_op_name(module, op_at(module, 1)), "func.func"));
  CHECK(piper_compiler_run(compiler, module, piper_str("canonicalise"), &error) == PIPER_FAILED);
  CHECK(piper_error_len(error) == 1 && piper_error_at(error, 0)->text.len > 0 && piper_error_at(error, 1) == NULL);
  piper_error_destroy(error);
  // A misuse leaves a text in the error as well.
  CHECK(piper_compiler_run(compiler, NULL, piper_str("cse"), &error) == PIPER_NULL);
  CHECK(piper_error_status(error) == PIPER_NULL && piper_error_len(error) == 1);
  piper_error_destroy(error);

  // A copy shares types and nothing else.
  PiperModule *copy = piper_module_copy(module);
  CHECK(piper_type_width(copy, type) == 32);
  CHECK(piper_op_erase(copy, op_at(copy, 1)) == PIPER_OK);
  CHECK(op_at(module, 1).bits != 0 && op_at(copy, 1).bits == 0);

  piper_module_destroy(copy);
  piper_module_destroy(module);
  piper_module_destroy(other);
  piper_compiler_destroy(compiler);
  return EXIT_SUCCESS;
}
