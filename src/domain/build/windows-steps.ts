// What a build does on a Windows machine, from the recipe alone: each step is a script for PowerShell, with a first line
// that names what it is for. Registry and services are set twice if the recipe has steps, because steps reset them.
// None of these scripts was executed on Windows; an independent grammar parses them (docs/windows.md).
import { componentInputs, type LockedInput } from '../lock/lock.ts';
import type { Recipe, RecipeWindows, WindowsPatch } from '../recipe/recipe.ts';
import { substitute } from '../recipe/variables.ts';
import { patchName, planPatches } from '../recipe/windows.ts';
import { type ImageManifest, manifestPath } from '../windows-node/first-boot.ts';
import { firstBootPath, firstBootScript } from '../windows-node/first-boot-script.ts';

export const windowsFolder = 'C:\\imago-build';
export const windowsInputs = `${windowsFolder}\\inputs`;
const minute = 60_000;

export type WindowsTask = 'patch' | 'features' | 'settings' | 'manifest' | 'seal';

export interface WindowsStep {
  readonly task: WindowsTask;
  readonly name: string;
  readonly script: string;
  readonly timeoutMs: number;
  readonly patch?: WindowsPatch;
}

/** Before the steps of the recipe, and after them. */
export interface WindowsSteps {
  readonly before: readonly WindowsStep[];
  readonly after: readonly WindowsStep[];
}

/** The lock's inputs give the file of each patch; without them the scripts lack it, and all else is the same. */
export function windowsSteps(
  recipe: Pick<Recipe, 'name' | 'components' | 'windows' | 'steps'>,
  inputs: readonly LockedInput[] = [],
): WindowsSteps {
  const { windows = {}, steps = [] } = recipe;
  const { install, beside } = planPatches(windows);
  const { features = [], registry = [], services = [] } = windows;
  const files = new Map(inputs.flatMap((one) => (one.kind === 'patch' ? [[one.name, one.sha256]] : [])));
  const next = beside.map(({ kb }) => files.get(kb) ?? '');
  const settings: WindowsStep = {
    ...{ task: 'settings', name: 'registry and services', timeoutMs: 10 * minute },
    script: settingsScript(windows),
  };
  const hasSettings = registry.length + services.length > 0;
  return {
    before: [
      ...install.map(
        (patch): WindowsStep => ({
          ...{ task: 'patch', name: `install ${patchName(patch)}`, patch, timeoutMs: 90 * minute },
          script: patchScript(patch, files.get(patch.kb) ?? '', next),
        }),
      ),
      ...(features.length === 0
        ? []
        : [{ ...featuresStep, script: featuresScript(features) } satisfies WindowsStep]),
      ...(hasSettings ? [settings] : []),
    ],
    after: [
      ...(hasSettings && steps.length > 0 ? [{ ...settings, name: 'registry and services again' }] : []),
      {
        ...{ task: 'manifest', name: 'manifest and first start', timeoutMs: 10 * minute },
        script: manifestScript(manifestOf(recipe, inputs)),
      },
    ],
  };
}

const featuresStep = { task: 'features', name: 'features', timeoutMs: 20 * minute } as const;

/** It is no step of the plan: a disk that was generalized must not be started again. */
export const sealStep: WindowsStep = {
  task: 'seal',
  name: 'generalize',
  timeoutMs: 15 * minute,
  script: script({ do: 'seal' }, [
    "$wu = 'HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WindowsUpdate'",
    "foreach ($name in @('SusClientId', 'SusClientIdValidation', 'PingID')) {",
    '    Remove-ItemProperty -Path $wu -Name $name -ErrorAction SilentlyContinue',
    '}',
    "foreach ($path in @('C:\\WindowsAzure', 'C:\\Packages\\Plugins', 'C:\\AzureData', 'C:\\Windows\\Panther', 'C:\\Windows\\Temp\\*', 'C:\\unattend.xml', 'C:\\Windows\\System32\\Sysprep\\unattend.xml', 'C:\\Windows\\System32\\Sysprep\\Panther')) {",
    '    Remove-Item -Path $path -Recurse -Force -ErrorAction SilentlyContinue',
    '}',
    `Remove-Item -Path '${windowsInputs}' -Recurse -Force -ErrorAction SilentlyContinue`,
    'Optimize-Volume -DriveLetter C -ReTrim',
    "$sysprep = 'C:\\Windows\\System32\\Sysprep\\sysprep.exe'",
    "$run = Start-Process -FilePath $sysprep -ArgumentList '/generalize /oobe /mode:vm /quiet /quit' -Wait -PassThru",
    'exit $run.ExitCode',
  ]),
};

type Purpose = { readonly do: WindowsTask; readonly [key: string]: unknown };

/** What the first line of a script says of it. */
export function readPurpose(text: string): Purpose | undefined {
  const found = /^# imago-windows (\{.*\})$/m.exec(text)?.[1];
  return found === undefined ? undefined : (JSON.parse(found) as Purpose);
}

function script(purpose: Purpose, lines: readonly string[]): string {
  return [
    `# imago-windows ${JSON.stringify(purpose)}`,
    'Set-StrictMode -Version 2',
    "$ErrorActionPreference = 'Stop'",
    "$ProgressPreference = 'SilentlyContinue'",
    ...lines,
    '',
  ].join('\n');
}

/** A text of PowerShell in which nothing is expanded. */
export function psText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** From build 26100 on, DISM installs it, and takes what it needs from the same folder; wusa before. */
function patchScript({ kb, build, kind }: WindowsPatch, sha256: string, beside: readonly string[]): string {
  const folder = `C:\\imago-build\\patch-${kb}`;
  const copy = (file: string, name: string) =>
    `Copy-Item -LiteralPath ${psText(`${windowsInputs}\\${file}`)} -Destination ${psText(`${folder}\\${name}`)}`;
  return script({ do: 'patch', kb, build, kind }, [
    `[void](New-Item -ItemType Directory -Force -Path ${psText(folder)})`,
    copy(sha256, `${kb}.msu`),
    ...beside.map((file, index) => copy(file, `checkpoint-${index + 1}.msu`)),
    '$system = [int](Get-CimInstance -ClassName Win32_OperatingSystem).BuildNumber',
    'if ($system -ge 26100) {',
    `    $run = Start-Process -FilePath 'dism.exe' -ArgumentList ${psText(`/Online /Quiet /NoRestart /Add-Package /PackagePath:${folder}\\${kb}.msu`)} -Wait -PassThru`,
    '} else {',
    `    $run = Start-Process -FilePath 'wusa.exe' -ArgumentList ${psText(`${folder}\\${kb}.msu /quiet /norestart`)} -Wait -PassThru`,
    '}',
    'exit $run.ExitCode',
  ]);
}

function featuresScript(features: readonly string[]): string {
  return script({ do: 'features', features }, [
    '$restart = $false',
    `foreach ($name in @(${features.map(psText).join(', ')})) {`,
    '    $result = Install-WindowsFeature -Name $name',
    '    if (-not $result.Success) {',
    "        throw ('The feature ' + $name + ' was not installed.')",
    '    }',
    "    if ($result.RestartNeeded -ne 'No') {",
    '        $restart = $true',
    '    }',
    '}',
    'if ($restart) {',
    '    exit 3010',
    '}',
    'exit 0',
  ]);
}

/** What the first start of a node need not do again. Private components are not in it. */
function manifestOf(
  { name, components, windows }: Pick<Recipe, 'name' | 'components' | 'windows'>,
  inputs: readonly LockedInput[],
): ImageManifest {
  const files = components.flatMap((component) =>
    componentInputs(component, inputs).flatMap(({ version, input }) => {
      const { to = '', private: secret } = component;
      if (input?.kind !== 'binary' || secret === true) return [];
      const path = substitute(to, { version }).text;
      return [{ name: component.name, version, path, sha256: input.sha256 }];
    }),
  );
  const settings = (windows?.registry ?? []).map((setting) => setting.name);
  return { format: 1, image: name, files, settings };
}

function manifestScript(manifest: ImageManifest): string {
  const file = (path: string, text: string) =>
    `[System.IO.File]::WriteAllBytes(${psText(path)}, [System.Convert]::FromBase64String(${psText(base64(text))}))`;
  return script({ do: 'manifest', manifest }, [
    "[void](New-Item -ItemType Directory -Force -Path 'C:\\imago')",
    file(manifestPath, JSON.stringify(manifest)),
    file(firstBootPath, firstBootScript),
  ]);
}

export function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
}

const registryKinds = {
  ...{ string: 'String', 'expand-string': 'ExpandString', 'multi-string': 'MultiString' },
  ...{ dword: 'DWord', qword: 'QWord', binary: 'Binary' },
} as const;
const startKinds = { automatic: 'Automatic', manual: 'Manual', disabled: 'Disabled' } as const;

function settingsScript({ registry = [], services = [] }: RecipeWindows): string {
  const values = registry.map(({ path, name, type, value }) => ({ path, name, type, value }));
  return script(
    { do: 'settings', registry: values, services: services.map(({ name, start }) => ({ name, start })) },
    [
      ...registry.flatMap(({ path, name, type, value }) => {
        const key = psText(path.replace(/^HKLM:?\\/i, 'HKLM:\\'));
        return [
          `if (-not (Test-Path -LiteralPath ${key})) {`,
          `    [void](New-Item -Path ${key} -Force)`,
          '}',
          `[void](New-ItemProperty -LiteralPath ${key} -Name ${psText(name)} -PropertyType ${registryKinds[type]} -Value ${psValue(type, value)} -Force)`,
        ];
      }),
      ...services.map(
        ({ name, start }) => `Set-Service -Name ${psText(name)} -StartupType ${startKinds[start]}`,
      ),
    ],
  );
}

/** Binary values are written as hexadecimal digits. */
function psValue(type: keyof typeof registryKinds, value: string | number | readonly string[]): string {
  if (type === 'dword' || type === 'qword') return psText(String(value));
  const parts = typeof value === 'object' ? value : [String(value)];
  if (type === 'binary') {
    const bytes = parts.join('').match(/[0-9a-f]{2}/gi) ?? [];
    return `([byte[]]@(${bytes.map((byte) => `0x${byte}`).join(', ')}))`;
  }
  return type === 'multi-string' ? `@(${parts.map(psText).join(', ')})` : parts.map(psText).join('');
}
