// What dissect, which others wrote, reads from volumes, hives and disks of Windows.
import { fetchWindowsJudges } from '../../scripts/get-windows-judges.ts';
import { runTool } from '../../src/host/process/run-tool.ts';

export interface JudgedFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

async function python(script: string, ...args: readonly string[]): Promise<string> {
  const env = { PYTHONPATH: await fetchWindowsJudges() };
  return (await runTool('python3', ['-c', script, ...args], { env })).stdout.toString('utf8');
}

const filesScript = `
import hashlib, json, sys
from dissect.ntfs import NTFS
out = []
def walk(entry, path):
    for index in entry.iterdir(ignore_dos=True):
        record = index.dereference()
        if record.segment < 16: continue
        here = path + '/' + index.attribute.file_name
        if record.is_reparse_point(): continue
        if record.is_dir(): walk(record, here); continue
        with record.open() as stream:
            data = stream.read()
        out.append({'path': here, 'size': len(data), 'sha256': hashlib.sha256(data).hexdigest()})
with open(sys.argv[1], 'rb') as volume:
    walk(NTFS(volume).mft.get('/'), '')
print(json.dumps(sorted(out, key=lambda item: item['path'].encode('utf-16-be', 'surrogatepass'))))
`;

/** Every file of a volume with its content, without links and what is under $Extend. */
export async function judgeFiles(volume: string): Promise<JudgedFile[]> {
  return JSON.parse(await python(filesScript, volume)) as JudgedFile[];
}

const hiveScript = `
import json, sys
from dissect.regf import RegistryHive
out = {}
def walk(key, path):
    out[path] = sorted(['' if value.name == '(Default)' else value.name, int(value.type), value.data.hex()] for value in key.values())
    for child in key.subkeys(): walk(child, path + '\\\\' + child.name)
with open(sys.argv[1], 'rb') as file:
    walk(RegistryHive(file).root(), '')
print(json.dumps(out))
`;

export async function judgeHive(hive: string): Promise<Record<string, readonly [string, number, string][]>> {
  return JSON.parse(await python(hiveScript, hive)) as Record<string, readonly [string, number, string][]>;
}

const powershellScript = `
import json, sys
import tree_sitter_powershell
from tree_sitter import Language, Parser
tree = Parser(Language(tree_sitter_powershell.language())).parse(open(sys.argv[1], 'rb').read())
bad = []
def walk(node):
    if node.is_error or node.is_missing: bad.append('%d:%d %s' % (node.start_point[0] + 1, node.start_point[1] + 1, node.type))
    for child in node.children: walk(child)
walk(tree.root_node)
print(json.dumps(bad))
`;

/** Where a script does not fit the grammar; empty for one that does. */
export async function judgePowerShell(script: string): Promise<string[]> {
  return JSON.parse(await python(powershellScript, script)) as string[];
}

/** What dissect says about a whole disk: functions of target-query by name, with commas between. */
export async function queryTarget(disk: string, names: string): Promise<string[]> {
  const folder = await fetchWindowsJudges();
  const env = { PYTHONPATH: folder };
  const args = [`${folder}/bin/target-query`, '-q', '-f', names, '-s', disk];
  return (await runTool('python3', args, { env })).stdout.toString('utf8').split('\n');
}
