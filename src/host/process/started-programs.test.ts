// Every place where Imago starts a program, reviewed: what a user can say in its arguments, and what keeps that from
// being an option. A new place fails here until it is added with its answer.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aptOperand } from '../../build/debian/apt-workspace.ts';
import { unitName } from '../../domain/node-config/forms.ts';
import { unitNameProblem } from '../../domain/recipe/settings-problems.ts';
import { type WordKind, wordProblem } from '../../domain/value/word.ts';

const source = join(import.meta.dirname, '../..');
const starts =
  /(?<![.\w])(?:spawn|spawnSync|execFile|execFileSync|execSync|fork|runTool|streamTool|startProcess|runOrThrow|outputOf)\(|promisify\(execFile\)|\b(?:sandbox(?:\(\))?|system|apt)\??\.(?:run|stream)\(/g;

/** Nothing that a user says is in the arguments. */
const fixed = 'fixed';
/** Absolute paths that Imago made: they start with a slash, whatever the names in them. */
const path = 'absolute path';
/** Words of a recipe or a lock, behind a double dash, by `aptOperand`. */
const checked = 'checked words';
/** Runs on a node, on words that follow the forms of the node config. */
const node = 'node config';
/** A script of ours; the words are its positional parameters, which it quotes and which name files of the build. */
const script = 'script parameters';
/** Passes on what its callers, which are in this list, give it. */
const passes = 'passes on';

const reviewed: Readonly<Record<string, readonly [count: number, operands: string]>> = {
  'agent/agent.ts': [1, node],
  'agent/apply/activate.ts': [6, node],
  'agent/apply/apply.ts': [1, node],
  'agent/apply/fetch.ts': [6, node],
  'agent/apply/foreign-containers.ts': [4, fixed],
  'agent/apply/verify.ts': [2, node],
  'agent/identity.ts': [2, fixed],
  'agent/metadata/guard.ts': [1, fixed],
  'agent/metadata/http.ts': [1, node],
  'agent/metadata/plain-http.ts': [1, fixed],
  'agent/metadata/quick-check.ts': [1, node],
  'agent/loop.ts': [1, fixed],
  'agent/light-subcommands.ts': [1, 'a command that an operator runs on the node, by a shell of the node'],
  'agent/system/deferred-units.ts': [2, fixed],
  'agent/system/program-error.ts': [2, passes],
  'agent/system/sha256.ts': [1, fixed],
  'agent/system/swap.ts': [3, path],
  'agent/system/system.ts': [1, path],
  'azure-emulator/server.ts': [1, path],
  'build/debian/apt-workspace.ts': [2, checked],
  'build/debian/signed-index.ts': [1, path],
  'build/debian/solve-packages.ts': [3, checked],
  'build/inputs/unpack.ts': [1, fixed],
  'build/layers/package-layers.ts': [4, script],
  'build/layers/tree-cache.ts': [1, script],
  'build/sandbox/overlay.ts': [1, script],
  'build/sandbox/sandbox.ts': [4, passes],
  'cli/input/recipe-commit.ts': [1, 'absolute paths behind a double dash'],
  'cli/run/failed-build.ts': [
    1,
    'what the daemon of this host returns; refused for a daemon of another host',
  ],
  'daemon/doctor/build.ts': [2, fixed],
  'daemon/doctor/machines.ts': [1, fixed],
  'daemon/doctor/probe.ts': [2, passes],
  'daemon/postgres/cluster.ts': [1, path],
  'daemon/postgres/programs.ts': [1, fixed],
  'daemon/postgres/server.ts': [1, path],
  'daemon/process/service-manager.ts': [1, fixed],
  'daemon/prober.ts': [
    1,
    'a program that the administrator has put there; a user gives its arguments, without a shell',
  ],
  'disk/boot/boot-files.ts': [1, fixed],
  'disk/assemble/assemble-disk.ts': [1, path],
  'disk/bytes/raw-extents.ts': [1, path],
  'disk/clean/ext4-tools.ts': [5, 'a name that Imago made, or an absolute path'],
  'disk/convert/convert.ts': [2, path],
  'disk/ext4/make.ts': [1, path],
  'host/process/run-tool.ts': [6, passes],
  'host/process/system-user.ts': [3, 'a user name of the administrator of the host'],
  'host/tls/certificate.ts': [1, 'host names of a checked form, behind a fixed prefix'],
  'host/tools/fetch-tools.ts': [5, fixed],
  'host/tools/tools.ts': [1, path],
  'inspect/inspect-disk.ts': [1, path],
  'kube/client/exec-sign-in.ts': [1, 'what a kubeconfig file of the host names, as kubectl runs it'],
  'kube/control-plane/processes.ts': [1, path],
  'launcher/emulator.ts': [1, 'flags that the command line has checked'],
  'launcher/inspector.ts': [1, 'a file of the command line, behind a double dash'],
  'launcher/spawn.ts': [1, 'flags that the command line has checked'],
  'oci/registry/find-credentials.ts': [1, 'a helper name of letters, digits, and . _ - behind a prefix'],
  'providers/azure/sign-in/host-credentials.ts': [1, 'fixed words and the address of the cloud'],
  'providers/local/disk/machine-disk.ts': [1, path],
  'providers/local/qemu/accelerator.ts': [1, fixed],
  'providers/local/qemu/agent-port.ts': [1, path],
  'providers/local/qemu/process.ts': [2, 'values behind their own option, by `qemuArguments`'],
};

test('every place that starts a program is reviewed', () => {
  const found = Object.fromEntries(
    readdirSync(source, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [relative(source, file), readFileSync(file, 'utf8').match(starts)?.length ?? 0] as const)
      .filter(([, count]) => count > 0)
      .sort(),
  );
  expect(found).toEqual(Object.fromEntries(Object.entries(reviewed).map(([file, [count]]) => [file, count])));
});

const kinds: readonly WordKind[] = [
  ...(['package', 'package version', 'version', 'suite', 'architecture', 'host', 'address'] as const),
];
/** Mostly near misses of real words, with what an attacker would put in. */
const texts = fc
  .array(
    fc.constantFrom('-', '--', '-o', '=', 'a', 'curl', '1.0', ':', '\n', ' ', '"', ';', '/', 'http://', '.'),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.join(''));

test.each(kinds)('no %s can be an option, hold a second word, or end a quoted value', (kind) => {
  fc.assert(
    fc.property(fc.oneof(texts, fc.string()), (text) => {
      if (wordProblem(kind, text) === undefined) expect(text).toMatch(/^[^-\s"'\\`]([^\s"'\\`])*$/);
    }),
    { numRuns: 2000 },
  );
});

test('no operand of apt is an option, a removal, or a file', () => {
  fc.assert(
    fc.property(texts, fc.option(texts, { nil: undefined }), (name, version) => {
      let operand: string;
      try {
        operand = aptOperand(name, version);
      } catch {
        return;
      }
      expect(operand).toMatch(/^[a-z0-9][^\s/]*$/);
      expect(operand.replace(/=.*$/, '')).not.toMatch(/-$/);
    }),
    { numRuns: 2000 },
  );
});

test('no unit name of a recipe or a node config is an option of systemctl', () => {
  const form = new RegExp(unitName.pattern);
  for (const name of ['-H.service', '--root=x.service', '-M@evil.service']) {
    expect(form.test(name)).toBe(false);
    expect(unitNameProblem(name)).toBeDefined();
  }
  expect(form.test('kubelet.service') && unitNameProblem('kubelet.service') === undefined).toBe(true);
});
