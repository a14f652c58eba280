// Fetches the programs that this machine lacks into a cache outside of the tree. A second run is instant.
// Usage: node scripts/get-tools.ts [disk] [judges] [agent] [azure] [--refresh] [--mirror URL]
//        Without a group: all but azure, which is large and only judges the Azure emulator.
import { parseArgs } from 'node:util';
import { ensureImagoError } from '../src/domain/error/imago-error.ts';
import { fetchTools } from '../src/host/tools/fetch-tools.ts';
import { type ToolGroup, toolGroups } from '../src/host/tools/packages.ts';

const groups = Object.keys(toolGroups) as ToolGroup[];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { refresh: { type: 'boolean' }, mirror: { type: 'string' } },
});
const unknown = positionals.find((name) => !groups.some((group) => group === name));
if (unknown !== undefined) {
  console.error(`get-tools: there is no group ${unknown}; there are ${groups.join(', ')}`);
  process.exit(2);
}

try {
  for (const group of groups.filter((name) =>
    positionals.length === 0 ? name !== 'azure' : positionals.includes(name),
  )) {
    const mirror = values.mirror ?? process.env.IMAGO_DEBIAN_MIRROR;
    const result = await fetchTools({ group, mirror, refresh: values.refresh === true });
    console.log(
      `${group}: ${result.folder} (${result.packages.length} packages${result.fetched ? ', fetched' : ''})`,
    );
  }
} catch (thrown) {
  const error = ensureImagoError(thrown);
  console.error(`get-tools: ${error.message}${error.hint === undefined ? '' : `\n  ${error.hint}`}`);
  process.exit(error.exitCode);
}
