import { describe, expect, test } from 'vitest';
import { disableUnit, enableUnit } from '../../install/enable-unit.ts';
import type { Host } from '../../install/host.ts';
import { deferUnits } from './deferred-units.ts';

const etc = '/etc/systemd/system';
const usr = '/usr/lib/systemd/system';
const late = `${etc}/imago-late.target.wants`;

/** Texts and links by path: as much of a system as enabling needs. */
function fakeHost(texts: Record<string, string>, links: Record<string, string>) {
  const remove = (path: string) => {
    delete texts[path];
    delete links[path];
  };
  const host: Pick<Host, 'readText' | 'list' | 'readLink' | 'writeText' | 'link' | 'remove'> = {
    readText: async (path) => texts[path],
    readLink: async (path) => links[path],
    async list(path) {
      const below = [...Object.keys(texts), ...Object.keys(links)].filter((one) =>
        one.startsWith(`${path}/`),
      );
      return [...new Set(below.map((one) => one.slice(path.length + 1).split('/')[0] ?? ''))].sort();
    },
    async writeText(path, text) {
      texts[path] = text;
    },
    async link(path, target) {
      links[path] = target;
    },
    async remove(path) {
      remove(path);
    },
  };
  return { host: host as Host, texts, links };
}

const sshUnit = '[Install]\nWantedBy=multi-user.target\n';

function debian() {
  return fakeHost(
    {
      [`${usr}/ssh.service`]: sshUnit,
      [`${usr}/dbus.service`]: '',
      [`${usr}/fstrim.timer`]: '',
      [`${usr}/containerd.service`]: sshUnit,
      '/etc/init.d/ssh': '',
    },
    {
      [`${etc}/multi-user.target.wants/ssh.service`]: `${usr}/ssh.service`,
      [`${etc}/multi-user.target.wants/containerd.service`]: `${usr}/containerd.service`,
      [`${usr}/multi-user.target.wants/dbus.service`]: '../dbus.service',
      [`${etc}/timers.target.wants/fstrim.timer`]: `${usr}/fstrim.timer`,
    },
  );
}

describe('what a node does not need to be ready', () => {
  test('starts with the late target, and no longer with the one that Debian names', async () => {
    const { host, links } = debian();
    await deferUnits(host);
    expect(links).toMatchObject({
      [`${late}/ssh.service`]: `${usr}/ssh.service`,
      [`${late}/dbus.service`]: `${usr}/dbus.service`,
      [`${late}/fstrim.timer`]: `${usr}/fstrim.timer`,
      [`${late}/imago-grow-root.service`]: `${usr}/imago-grow-root.service`,
      // A link of a package stays; this one overrides it.
      [`${etc}/multi-user.target.wants/dbus.service`]: '/dev/null',
    });
    expect(links[`${etc}/multi-user.target.wants/ssh.service`]).toBeUndefined();
    expect(links[`${etc}/timers.target.wants/fstrim.timer`]).toBeUndefined();
  });

  test('does not include what makes the node', async () => {
    const { host, links } = debian();
    await deferUnits(host);
    expect(links[`${etc}/multi-user.target.wants/containerd.service`]).toBe(`${usr}/containerd.service`);
    expect(links[`${late}/containerd.service`]).toBeUndefined();
  });

  test('is the same after a second call', async () => {
    const { host, links } = debian();
    await deferUnits(host);
    const once = { ...links };
    await deferUnits(host);
    expect(links).toEqual(once);
  });

  test('follows a recipe that switches it off, or wants it immediately', async () => {
    const { host, links } = debian();
    await deferUnits(host);
    await disableUnit(host, 'ssh.service');
    expect(Object.keys(links).filter((path) => path.endsWith('/ssh.service'))).toEqual([]);
    await disableUnit(host, 'dbus.service');
    expect(links[`${etc}/multi-user.target.wants/dbus.service`]).toBe('/dev/null');
    await enableUnit(host, 'ssh.service', sshUnit, usr);
    expect(links[`${etc}/multi-user.target.wants/ssh.service`]).toBe(`${usr}/ssh.service`);
  });

  test('old scripts are still read where one has no unit', async () => {
    const masked = '/etc/systemd/system-generators/systemd-sysv-generator';
    const { host, links, texts } = debian();
    await deferUnits(host);
    expect(links[masked]).toBe('/dev/null');
    delete links[masked];
    texts['/etc/init.d/old-thing'] = '#!/bin/sh\n';
    await deferUnits(host);
    expect(links[masked]).toBeUndefined();
  });
});
