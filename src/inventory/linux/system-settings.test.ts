import { describe, expect, it } from 'vitest';
import { parseAssignments, parseModules, parseSysctl } from './system-settings.ts';

describe('kernel parameters', () => {
  it('the last file wins, comments do not count, and both ways to write a name are one', () => {
    expect(
      parseSysctl(['# a\nvm.swappiness = 10\n; b\n', 'vm/swappiness=0\n-net.core.x = 1 2 3\nbroken line\n']),
    ).toEqual({ 'vm.swappiness': '0', 'net.core.x': '1 2 3' });
  });

  it('an interface with a dot in its name keeps it', () => {
    expect(parseSysctl(['net/ipv4/conf/eth0.5/forwarding=1'])).toEqual({
      'net.ipv4.conf.eth0/5.forwarding': '1',
    });
  });
});

it('modules are named once', () => {
  expect(parseModules(['overlay\nbr_netfilter\n', '# x\noverlay\n'])).toEqual(['br_netfilter', 'overlay']);
});

it('quotes are taken off assignments', () => {
  expect(parseAssignments(`ID=debian\nPRETTY_NAME="Debian 13"\nX='a b'\nnonsense\n`)).toEqual({
    ID: 'debian',
    PRETTY_NAME: 'Debian 13',
    X: 'a b',
  });
});
