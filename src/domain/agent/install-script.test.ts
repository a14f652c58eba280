import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentInstallScript } from './install-script.ts';

const source = { url: 'https://example.com/agent.tar.gz', sha256: 'a'.repeat(64) };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'imago-install-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly status: number | null;
  readonly calls: string;
  readonly errors: string;
}

/** Runs it with stand-ins for everything that would touch the machine; `curl` gives the text, once another first. */
function run(script: string, download: string, first = download): Run {
  const log = path.join(folder, 'calls');
  const bin = path.join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const tools = {
    curl: `text='${download}'; [ -e ${folder}/asked ] || text='${first}'; : >${folder}/asked
while [ $# -gt 0 ]; do [ "$1" = --output ] && printf %s "$text" >"$2"; shift; done`,
    ...{
      qjs: ':',
      tar: `mkdir -p '${folder}/imago'`,
      'apt-get': ':',
      systemctl: ':',
      udevadm: ':',
      sync: ':',
      sleep: ':',
    },
  };
  for (const [name, text] of Object.entries(tools)) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\necho ${name} "$@" >>'${log}'\n${text}\n`);
    chmodSync(path.join(bin, name), 0o755);
  }
  writeFileSync(log, '');
  const { status, stderr } = spawnSync('sh', ['-c', script.replaceAll('/usr/lib/imago', `${folder}/imago`)], {
    encoding: 'utf8',
    env: { PATH: `${bin}:${process.env.PATH}`, TMPDIR: folder },
  });
  return { status, calls: readFileSync(log, 'utf8'), errors: stderr };
}

function digestOf(text: string): string {
  return execFileSync('sha256sum', { input: text, encoding: 'utf8' }).slice(0, 64);
}

describe('the script for plain images', () => {
  it('is a script of at most 30 lines, always the same for the same agent', () => {
    const text = agentInstallScript(source);
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
    expect(text).toBe(agentInstallScript(source));
    expect(spawnSync('sh', ['-n'], { input: text }).status).toBe(0);
  });

  it('installs the agent and starts it, and the second time only starts it', () => {
    const script = agentInstallScript({ ...source, sha256: digestOf('the agent') });
    const first = run(script, 'the agent');
    expect(first).toMatchObject({ status: 0 });
    expect(first.calls).toMatch(/curl .*\ntar .*\nsync/s);
    expect(first.calls).toMatch(/systemctl enable imago-agent.*systemctl start imago-agent/s);
    const second = run(script, 'the agent');
    expect(second.status).toBe(0);
    expect(second.calls).not.toMatch(/^(?:curl|tar)/m);
    expect(second.calls).toContain('systemctl start imago-agent.service');
  });

  it('starts nothing when the bytes are not those that were named', () => {
    const { status, calls, errors } = run(
      agentInstallScript({ ...source, sha256: digestOf('the agent') }),
      'another one',
    );
    expect(status).not.toBe(0);
    expect(calls).not.toMatch(/^(?:tar|systemctl)/m);
    expect(calls.match(/^curl/gm)).toHaveLength(10);
    expect(errors.match(/^imago: .*try \d+ of 10$/gm)).toHaveLength(10);
  });

  it('tries again when the source gives other bytes for a while', () => {
    const { status, calls } = run(
      agentInstallScript({ ...source, sha256: digestOf('the agent') }),
      'the agent',
      'a page that asks for a password',
    );
    expect(status).toBe(0);
    expect(calls.match(/^(?:curl|sleep|tar)/gm)).toEqual(['curl', 'sleep', 'curl', 'tar']);
  });

  it.each([
    { ...source, url: "https://example.com/'; rm -rf /" },
    { ...source, url: 'file:///etc/passwd' },
    { ...source, sha256: 'abc' },
  ])('is not made from %j', (bad) => {
    expect(() => agentInstallScript(bad)).toThrow(expect.objectContaining({ code: 'input-invalid' }));
  });
});
