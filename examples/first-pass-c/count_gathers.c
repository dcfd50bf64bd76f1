// print-gathers: how many all-gathers a step has. Build: cc -shared -fPIC -I bindings/capi/include -o libcount.so count_gathers.c
#define PIPER_PLUGIN
#include "piper.h"

#include <stdio.h>

static PiperStatus run(void *user, PiperPass *pass) {
  (void)user;
  PiperModule *module = piper_pass_module(pass);
  const PiperOp root = piper_pass_op(pass);
  unsigned count = 0;
  for (PiperOp op = root; op.bits != 0; op = piper_walk_next(module, root, op)) {
    if (piper_str_is(piper_op_name(module, op), "dag.all_gather")) count++;
  }
  char text[64];
  snprintf(text, sizeof text, "%u all-gather(s)", count);
  return piper_pass_report(pass, PIPER_REMARK, piper_op_loc(module, root), piper_str(text), piper_str(NULL));
}

static PiperStatus fill(PiperRegistrar *registrar) {
  PiperPassInfo info = {0};
  info.size = sizeof info;
  info.name = piper_str("print-gathers");
  info.summary = piper_str("Remarks how many all-gathers a step has");
  info.flags = PIPER_PASS_ONLY_READS;
  info.run = run;
  return piper_registrar_add_pass(registrar, &info);
}

PIPER_DEFINE_PLUGIN("count", "1.0", fill)
