// Reads a model with its strategy, runs a pass of its own over it, compiles it for two devices, simulates it and trains it.
//
//   train FILE.pir [MACHINE.toml]
#include "piper.h"

#include <stdio.h>
#include <stdlib.h>

// Ends the program where a function failed; the error says why, with the source lines. (A pointer to it: what is written as an
// argument beside the call may be read before the call.)
static void check(PiperStatus status, PiperError **error) {
  if (status == PIPER_OK) return;
  const PiperStr text = piper_error_text(*error);
  fprintf(stderr, "status %d\n%.*s", (int)status, (int)text.len, text.data);
  piper_error_destroy(*error);
  exit(EXIT_FAILURE);
}

// Hears what the compiler says.
static void hear(void *user, const PiperDiagnostic *said) {
  unsigned *heard = user;
  ++*heard;
  printf("heard: %.*s (line %u)\n", (int)said->text.len, said->text.data, (unsigned)said->line);
}

// A pass: remarks every linear layer.
static uint32_t visit(void *user, PiperModule *module, PiperOp op) {
  PiperPass *pass = user;
  if (piper_str_is(piper_op_name(module, op), "nn.linear")) {
    piper_pass_report(pass, PIPER_REMARK, piper_op_loc(module, op), piper_str("a linear layer"), piper_str(NULL));
    piper_pass_count(pass, piper_str("linear layers"), 1);
  }
  return PIPER_WALK_ON;
}

static PiperStatus run(void *user, PiperPass *pass) {
  (void)user;
  return piper_walk(piper_pass_module(pass), piper_pass_op(pass), PIPER_OUTER_FIRST, visit, pass);
}

// The text of a file, which ends with a NUL.
static char *file_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  char *text = malloc((size_t)size + 1);
  if (text == NULL || fread(text, 1, (size_t)size, file) != (size_t)size) exit(EXIT_FAILURE);
  text[size] = 0;
  fclose(file);
  return text;
}

static void simulate(const PiperPlan *plan, const char *path) {
  PiperError *error = NULL;
  PiperString table;
  char *machine = file_text(path);
  check(piper_plan_simulate(plan, piper_str(machine), PIPER_SIM_TABLE, &table, &error), &error);
  printf("%s", table.data);
  piper_string_free(&table);
  free(machine);
}

// Steps on one batch: 8 rows of 16 tokens, each to be followed by the next.
static void train(PiperTraining *training, unsigned steps) {
  PiperError *error = NULL;
  const uint64_t shape[] = {8, 16};
  int32_t tokens[8 * 16], targets[8 * 16];
  for (int i = 0; i < 8 * 16; i++) {
    tokens[i] = (i * 7) % 256;
    targets[i] = (tokens[i] + 1) % 256;
  }
  const PiperTensor inputs[] = {
      {PIPER_LITERAL("tokens"), shape, 2, PIPER_I32, tokens, sizeof tokens},
      {PIPER_LITERAL("targets"), shape, 2, PIPER_I32, targets, sizeof targets},
  };
  for (unsigned step = 0; step < steps; step++) {
    check(piper_training_step(training, inputs, 2, &error), &error);
    double loss = 0;
    if (!piper_training_number(training, piper_str("loss"), &loss)) exit(EXIT_FAILURE);
    printf("step %u: loss %.4f\n", step + 1, loss);
  }
}

int main(int argc, char **argv) {
  if (argc < 2) return EXIT_FAILURE;
  PiperError *error = NULL;
  PiperCompiler *compiler = piper_compiler_create();
  unsigned heard = 0;
  piper_compiler_listen(compiler, hear, &heard);

  PiperPassInfo info = {0};
  info.size = sizeof info;
  info.name = piper_str("print-linear-layers");
  info.summary = piper_str("Remarks every linear layer");
  info.flags = PIPER_PASS_ONLY_READS;
  info.run = run;
  check(piper_compiler_add_pass(compiler, &info, &error), &error);

  PiperModule *module = NULL;
  check(piper_module_read(compiler, piper_str(argv[1]), &module, &error), &error);
  check(piper_compiler_run(compiler, module, piper_str("print-linear-layers"), &error), &error);
  printf("%u remark(s)\n", heard);

  PiperCompileOptions options = {0};
  options.size = sizeof options;
  options.kernels = PIPER_KERNELS_INTERPRETED;
  PiperPlan *plan = NULL;
  check(piper_compiler_compile(compiler, module, &options, &plan, &error), &error);
  piper_module_destroy(module);
  piper_compiler_destroy(compiler);

  PiperString launches;
  check(piper_plan_launches(plan, &launches), &error);
  printf("%zu device(s), %zu bytes of launch sequence\n", piper_plan_num_devices(plan), launches.len);
  piper_string_free(&launches);
  if (argc > 2) simulate(plan, argv[2]);

  PiperTraining *training = NULL;
  check(piper_training_create(plan, NULL, &training, &error), &error);
  piper_plan_destroy(plan);
  train(training, 3);

  // A parameter is read, changed and written back.
  PiperTensor bias;
  check(piper_training_state(training, piper_str("hidden.b"), &bias, &error), &error);
  float zeros[64] = {0};
  const PiperTensor cleared = {PIPER_LITERAL("hidden.b"), bias.shape, bias.rank, bias.dtype, zeros, sizeof zeros};
  check(piper_training_set_state(training, &cleared, &error), &error);
  train(training, 1);
  piper_training_destroy(training);
  return EXIT_SUCCESS;
}
