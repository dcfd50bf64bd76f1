// Builds a function operation by operation, verifies it, changes it, and prints it.
#include "piper.h"

#include <stdio.h>
#include <stdlib.h>

// Ends the program where the module was misused; it says which function, and why.
static void check(const PiperModule *module) {
  const PiperStr misuse = piper_module_misuse(module);
  if (misuse.data == NULL) return;
  fprintf(stderr, "misuse: %.*s\n", (int)misuse.len, misuse.data);
  exit(EXIT_FAILURE);
}

static PiperType type(const PiperModule *module, const char *text) {
  PiperType found = {0};
  PiperError *error = NULL;
  if (piper_type_parse(module, piper_str(text), &found, &error) != PIPER_OK) {
    const PiperStr why = piper_error_text(error);
    fprintf(stderr, "%.*s", (int)why.len, why.data);
    piper_error_destroy(error);
    exit(EXIT_FAILURE);
  }
  return found;
}

// The result of an operation of these operands, whose type is inferred.
static PiperValue value(PiperModule *module, PiperBlock block, const char *name, const PiperValue *operands, size_t count) {
  PiperOpParts parts = {0};
  parts.size = sizeof parts;
  parts.name = piper_str(name);
  parts.operands = operands;
  parts.num_operands = count;
  const PiperOp op = piper_op_create(module, &parts, piper_at_end(block));
  return piper_op_result(module, op, 0);
}

static void print(const PiperModule *module) {
  PiperString text;
  if (piper_module_text(module, 0, &text) != PIPER_OK) exit(EXIT_FAILURE);
  printf("%s\n", text.data);
  piper_string_free(&text);
}

int main(void) {
  PiperCompiler *compiler = piper_compiler_create();
  PiperModule *module = piper_module_create(compiler, piper_str("built"));

  // func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32>
  const PiperType x = type(module, "tensor<4x8xf32>"), w = type(module, "tensor<8x3xf32>");
  const int64_t extents[] = {4, 3};
  const PiperType y = piper_type_tensor(module, extents, 2, piper_type_float(module, piper_str("f32")));
  const PiperType inputs[] = {x, w};
  const PiperType signature = piper_type_function(module, inputs, 2, &y, 1);
  const PiperNamedAttr attrs[] = {
      {PIPER_LITERAL("sym_name"), piper_attr_string(module, piper_str("f"))},
      {PIPER_LITERAL("function_type"), piper_attr_type(module, signature)},
  };
  const PiperRegion region = piper_region_create(module);
  const PiperBlock block = piper_region_add_block(module, region);
  const PiperValue args[] = {piper_block_add_arg(module, block, x), piper_block_add_arg(module, block, w)};
  PiperOpParts parts = {0};
  parts.size = sizeof parts;
  parts.name = piper_str("func.func");
  parts.attrs = attrs;
  parts.num_attrs = 2;
  parts.regions = &region;
  parts.num_regions = 1;
  const PiperOp function = piper_op_create(module, &parts, piper_at_end(piper_module_body(module)));

  const PiperValue z = value(module, block, "nn.linear", args, 2);
  const PiperValue a = value(module, block, "nn.gelu", &z, 1);
  PiperOpParts end = {0};
  end.size = sizeof end;
  end.name = piper_str("func.return");
  end.operands = &a;
  end.num_operands = 1;
  piper_op_create(module, &end, piper_at_end(block));
  piper_value_set_name(module, z, piper_str("z"));
  check(module);
  PiperError *error = NULL;
  if (piper_module_verify(module, &error) != PIPER_OK) return EXIT_FAILURE;
  print(module);

  // The activation goes: whoever used it uses what it was computed from.
  const PiperOp gelu = piper_value_op(module, a);
  piper_op_replace(module, gelu, &z, 1);
  check(module);
  print(module);

  // A handle of what was erased is noticed, and so is what the verifier finds.
  piper_op_name(module, gelu);
  const PiperStr misuse = piper_module_misuse(module);
  printf("misuse %d: %.*s\n", (int)piper_module_misuse_status(module), (int)misuse.len, misuse.data);
  piper_module_clear_misuse(module);
  piper_value_set_type(module, z, x);
  const PiperStatus status = piper_module_verify(module, &error);
  for (size_t i = 0; i < piper_error_len(error); i++) {
    const PiperDiagnostic *said = piper_error_at(error, i);
    printf("status %d: %.*s\n", (int)status, (int)said->text.len, said->text.data);
  }
  piper_error_destroy(error);
  if (!piper_op_is_alive(module, function)) return EXIT_FAILURE;
  piper_module_destroy(module);
  piper_compiler_destroy(compiler);
  return EXIT_SUCCESS;
}
