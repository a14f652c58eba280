import { describe, expect, it } from 'vitest';
import { imageManifest, planFirstBoot, windowsNodeConfig } from './first-boot.ts';

const a = 'a'.repeat(64);
const b = 'b'.repeat(64);
const kubelet = { name: 'kubelet', version: '1.34.2', path: 'C:\\k\\kubelet.exe', sha256: a };
const config = windowsNodeConfig.parse({
  schemaVersion: 1,
  kubernetes: { apiServer: 'https://api.example.com' },
  windows: {
    files: [{ ...kubelet, url: 'https://downloads.example.test/kubelet.exe' }],
    settings: [
      {
        name: 'hns',
        key: 'HKLM:\\SYSTEM\\CurrentControlSet\\Services\\hns\\State',
        value: 'X',
        type: 'DWord',
        data: 1,
      },
    ],
    services: ['kubelet'],
  },
});
const manifest = imageManifest.parse({
  format: 1,
  image: 'windows-node:1.0.0',
  files: [kubelet],
  settings: ['hns'],
});
const kinds = (steps: ReturnType<typeof planFirstBoot>) => steps.map((step) => step.do);

describe('the first start of a Windows node', () => {
  it('uses what the image has, and repeats nothing that its build did', () => {
    expect(kinds(planFirstBoot(config, manifest))).toEqual(['use', 'keep', 'start']);
  });

  it('of a plain Windows Server does everything, only slower', () => {
    expect(kinds(planFirstBoot(config, undefined))).toEqual(['download', 'set', 'start']);
  });

  it('downloads a cached file that has another content than the manifest or the config says', () => {
    const older = { ...manifest, files: [{ ...kubelet, sha256: b }] };
    expect(kinds(planFirstBoot(config, older))).toEqual(['download', 'keep', 'start']);
    const changed = new Map([['c:\\k\\kubelet.exe', b]]);
    expect(kinds(planFirstBoot(config, manifest, changed))).toEqual(['download', 'keep', 'start']);
  });

  it('downloads nothing the second time', () => {
    const onDisk = new Map([['c:\\k\\kubelet.exe', a]]);
    expect(kinds(planFirstBoot(config, undefined, onDisk))).toEqual(['use', 'set', 'start']);
  });

  it('takes no path that leads elsewhere, no address without TLS, and no key of another hive', () => {
    const [file] = config.windows.files;
    const [setting] = config.windows.settings;
    for (const windows of [
      { files: [{ ...file, path: 'C:\\k\\..\\Windows\\x.exe' }] },
      { files: [{ ...file, path: 'C:\\k\\$(calc).exe' }] },
      { files: [{ ...file, url: 'http://downloads.example.test/x' }] },
      { files: [], settings: [{ ...setting, key: 'HKCU:\\x' }] },
      { files: [], services: ['a; calc'] },
    ]) {
      expect(windowsNodeConfig.safeParse({ schemaVersion: 1, windows }).success).toBe(false);
    }
  });
});
