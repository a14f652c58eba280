// A job in a Windows machine, as `jobScript` has it for Linux: a task that runs as SYSTEM, detached from the caller.
// The same answer is read by `readJob`. Never executed on Windows; an independent grammar parses it.
import type { RecipeComponent } from '../recipe/recipe.ts';
import { substitute } from '../recipe/variables.ts';
import { type GuestJob, maxOutput } from './guest-job.ts';
import { base64, psText, windowsFolder, windowsInputs } from './windows-steps.ts';

/** Of a system that completes its setup at the next start. */
export const sealedState = 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE';
const jobs = `${windowsFolder}\\jobs`;
const boot =
  '$boot = [string](Get-CimInstance -ClassName Win32_OperatingSystem).LastBootUpTime.ToUniversalTime().Ticks';
/** Only the system and administrators enter it. */
const privateFolder = [
  `[void](New-Item -ItemType Directory -Force -Path ${psText(windowsInputs)})`,
  `[void](New-Item -ItemType Directory -Force -Path ${psText(jobs)})`,
  `[void](icacls.exe ${psText(windowsFolder)} /inheritance:r /grant '*S-1-5-18:(OI)(CI)F' '*S-1-5-32-544:(OI)(CI)F' /q)`,
];

/** What the task does: the exit code is there whole, or not at all. */
const runner = String.raw`$d = Split-Path -Parent $MyInvocation.MyCommand.Path
$began = [DateTime]::UtcNow
Set-Content -LiteralPath ($d + '\began') -Value 'yes'
$env:IMAGO_INPUTS = '${windowsInputs}'
$arguments = '-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "' + $d + '\script.ps1"'
$run = Start-Process -FilePath 'powershell.exe' -ArgumentList $arguments -Wait -PassThru -RedirectStandardOutput ($d + '\log') -RedirectStandardError ($d + '\errors')
$ms = [int64]([DateTime]::UtcNow - $began).TotalMilliseconds
Set-Content -LiteralPath ($d + '\exit.new') -Value ([string]$run.ExitCode + ' ' + [string]$ms)
Move-Item -LiteralPath ($d + '\exit.new') -Destination ($d + '\exit') -Force
`;

export function windowsJobScript({ id, script, from }: GuestJob): string {
  const bytes = (name: string, text: string) =>
    `    [System.IO.File]::WriteAllBytes($d + ${psText(`\\${name}`)}, [System.Convert]::FromBase64String(${psText(base64(text))}))`;
  return [
    `# imago-job ${id} ${from}`,
    "$ErrorActionPreference = 'Stop'",
    `$d = ${psText(`${jobs}\\${id}`)}`,
    boot,
    ...privateFolder,
    "if (-not (Test-Path -LiteralPath ($d + '\\boot'))) {",
    '    [void](New-Item -ItemType Directory -Force -Path $d)',
    bytes('script.ps1', script),
    bytes('run.ps1', runner),
    "    Set-Content -LiteralPath ($d + '\\boot.new') -Value $boot",
    "    Move-Item -LiteralPath ($d + '\\boot.new') -Destination ($d + '\\boot') -Force",
    `    $action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument ('-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "' + $d + '\\run.ps1"')`,
    `    [void](Register-ScheduledTask -TaskName 'imago-${id}' -Action $action -User 'SYSTEM' -RunLevel Highest -Force)`,
    `    Start-ScheduledTask -TaskName 'imago-${id}'`,
    '}',
    "$state = 'running'",
    "$started = (Get-Content -LiteralPath ($d + '\\boot') -Raw).Trim()",
    '$code = 0',
    "$ms = [int64]([DateTime]::UtcNow - (Get-Item -LiteralPath ($d + '\\boot')).LastWriteTimeUtc).TotalMilliseconds",
    'if ($ms -lt 0) {',
    '    $ms = 0',
    '}',
    "if (-not (Test-Path -LiteralPath ($d + '\\began'))) {",
    "    $state = 'starting'",
    '    if ($ms -gt 300000) {',
    "        $state = 'lost'",
    '    }',
    `} elseif ((Get-ScheduledTask -TaskName 'imago-${id}').State -ne 'Running') {`,
    "    $state = 'lost'",
    '}',
    'if ($started -ne $boot) {',
    "    $state = 'lost'",
    '}',
    "if (Test-Path -LiteralPath ($d + '\\exit')) {",
    "    $state = 'done'",
    "    $parts = (Get-Content -LiteralPath ($d + '\\exit') -Raw).Trim().Split(' ')",
    '    $code = $parts[0]',
    '    $ms = $parts[1]',
    '}',
    `$log = New-Object byte[] ${maxOutput}`,
    '$size = 0',
    "if (Test-Path -LiteralPath ($d + '\\log')) {",
    "    $stream = [System.IO.File]::Open($d + '\\log', 'Open', 'Read', 'ReadWrite')",
    `    [void]$stream.Seek(${from}, 'Begin')`,
    '    $size = $stream.Read($log, 0, $log.Length)',
    '    $stream.Close()',
    '}',
    '$text = [System.Text.Encoding]::UTF8.GetString($log, 0, $size)',
    `$head = 'imago-job ' + $state + ' boot=' + $boot + ' started=' + $started + ' exit=' + $code + ' ms=' + $ms + ' next=' + (${from} + $size)`,
    '[Console]::Out.Write($head + "`n" + $text)',
    '',
  ].join('\n');
}

/** What the machine says of itself. Reading it twice changes nothing. */
export interface WindowsFacts {
  readonly build: number;
  readonly ubr: number;
  readonly imageState: string;
  /** Of `Windows\Setup\State\State.ini`. */
  readonly stateFile: string;
  /** Sysprep has left its mark. */
  readonly tag: boolean;
  /** What waits for a restart. */
  readonly pending: readonly string[];
  readonly freeBytes: number;
  /** States of packages by the number of the update that their manifest names. */
  readonly updates: Readonly<Record<string, number>>;
  /** The first lines of the log of Sysprep's errors. */
  readonly errors: string;
}

export const factsScript = [
  '# imago-facts',
  "$ErrorActionPreference = 'Stop'",
  "$nt = Get-ItemProperty -LiteralPath 'HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion'",
  "$setup = Get-ItemProperty -LiteralPath 'HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Setup\\State'",
  "$servicing = 'HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing'",
  '$pending = @()',
  "foreach ($name in @('RebootPending', 'PackagesPending')) {",
  "    if (Test-Path -LiteralPath ($servicing + '\\' + $name)) {",
  '        $pending += $name',
  '    }',
  '}',
  "if (Test-Path -LiteralPath 'HKLM:\\SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\WindowsUpdate\\Auto Update\\RebootRequired') {",
  "    $pending += 'RebootRequired'",
  '}',
  '$updates = @{}',
  "foreach ($file in Get-ChildItem -Path 'C:\\Windows\\servicing\\Packages\\Package_for_*.mum') {",
  '    $found = Select-String -LiteralPath $file.FullName -Pattern \'identifier="(KB[0-9]+)"\' | Select-Object -First 1',
  '    if ($found) {',
  "        $key = Get-ItemProperty -LiteralPath ($servicing + '\\Packages\\' + $file.BaseName) -ErrorAction SilentlyContinue",
  '        if ($key) {',
  '            $updates[$found.Matches[0].Groups[1].Value] = $key.CurrentState',
  '        }',
  '    }',
  '}',
  "$stateFile = ''",
  "if (Test-Path -LiteralPath 'C:\\Windows\\Setup\\State\\State.ini') {",
  "    $stateFile = [string](Get-Content -LiteralPath 'C:\\Windows\\Setup\\State\\State.ini' -Raw)",
  '}',
  "$errors = ''",
  "if (Test-Path -LiteralPath 'C:\\Windows\\System32\\Sysprep\\Panther\\setuperr.log') {",
  "    $errors = (Get-Content -LiteralPath 'C:\\Windows\\System32\\Sysprep\\Panther\\setuperr.log' -TotalCount 5) -join ' / '",
  '}',
  '$facts = @{',
  '    build = [int]$nt.CurrentBuildNumber',
  '    ubr = [int]$nt.UBR',
  '    imageState = [string]$setup.ImageState',
  '    stateFile = $stateFile',
  "    tag = Test-Path -LiteralPath 'C:\\Windows\\System32\\Sysprep\\Sysprep_succeeded.tag'",
  '    pending = $pending',
  "    freeBytes = (Get-PSDrive -Name 'C').Free",
  '    updates = $updates',
  '    errors = $errors',
  '}',
  '[Console]::Out.Write((ConvertTo-Json -InputObject $facts -Depth 3 -Compress))',
  '',
].join('\n');

/** How inputs are brought in: each script can run twice. Archives are unpacked by the tar that Windows has. */
export const bringToWindows = {
  begin: () => ["$ErrorActionPreference = 'Stop'", ...privateFolder, ''].join('\n'),
  write: (sha256: string, at: number, content: string) =>
    [
      "$ErrorActionPreference = 'Stop'",
      `$bytes = [System.Convert]::FromBase64String(${psText(content)})`,
      `$stream = [System.IO.File]::Open(${psText(`${windowsInputs}\\${sha256}`)}, 'OpenOrCreate', 'Write')`,
      `[void]$stream.Seek(${at}, 'Begin')`,
      '$stream.Write($bytes, 0, $bytes.Length)',
      '$stream.Close()',
      '',
    ].join('\n'),
  end(sha256: string, component: RecipeComponent | undefined, version: string) {
    const file = psText(`${windowsInputs}\\${sha256}`);
    return [
      "$ErrorActionPreference = 'Stop'",
      `$hash = Get-FileHash -LiteralPath ${file} -Algorithm SHA256`,
      `if ($hash.Hash.ToLowerInvariant() -ne ${psText(sha256)}) {`,
      "    throw 'The file that arrived has another sha256.'",
      '}',
      ...(component === undefined ? [] : install(file, component, version)),
      '',
    ].join('\n');
  },
};

function install(file: string, { to = '', from }: RecipeComponent, version: string): readonly string[] {
  const place = substitute(to, { version }).text;
  const target = psText(place);
  if (from === undefined || !('tar' in from || 'folder' in from)) {
    const folder = psText(place.replace(/\\[^\\]*$/, ''));
    return [
      `[void](New-Item -ItemType Directory -Force -Path ${folder})`,
      `Copy-Item -LiteralPath ${file} -Destination ${target} -Force`,
    ];
  }
  const strip = 'tar' in from ? (from.strip ?? 0) : 0;
  const only = 'tar' in from ? (from.only ?? []).map(psText) : [];
  return [
    `[void](New-Item -ItemType Directory -Force -Path ${target})`,
    `tar.exe -x -f ${file} -C ${target} --strip-components ${strip} ${only.join(' ')}`.trimEnd(),
    'if ($LASTEXITCODE -ne 0) {',
    "    throw 'The archive could not be unpacked.'",
    '}',
  ];
}

/** Removes what the build brought, at its end. */
export const tidyScript = [
  '# imago-tidy',
  "Get-ScheduledTask -TaskName 'imago-*' | Unregister-ScheduledTask -Confirm:$false",
  `Remove-Item -LiteralPath ${psText(windowsFolder)} -Recurse -Force -ErrorAction SilentlyContinue`,
  'Optimize-Volume -DriveLetter C -ReTrim',
  '',
].join('\n');

/** `undefined` for what is no answer: a reply that was cut off. */
export function readFacts(stdout: string): WindowsFacts | undefined {
  try {
    const facts = JSON.parse(stdout) as WindowsFacts;
    return typeof facts.build === 'number' ? facts : undefined;
  } catch {
    return undefined;
  }
}
