import { describe, expect, test } from 'vitest';
import { ImagoError } from '../error/imago-error.ts';
import { fillIn, judgeQuery, parseProbe } from './probe.ts';

describe('a probe', () => {
  test('is read as it is written', () => {
    expect(parseProbe('http http://{address:8080}/healthz')).toEqual({
      ...{ kind: 'http', url: 'http://{address:8080}/healthz' },
    });
    expect(parseProbe('condition Ready')).toEqual({ kind: 'condition', type: 'Ready', status: 'True' });
    expect(parseProbe('condition DiskPressure=False')).toMatchObject({ status: 'False' });
    expect(parseProbe('command check-web {node} -v')).toEqual({
      ...{ kind: 'command', program: 'check-web', args: ['{node}', '-v'] },
    });
    expect(parseProbe('promql https://prometheus:9090/ ALERTS{node="{node}"} > 0')).toEqual({
      ...{ kind: 'promql', server: 'https://prometheus:9090', query: 'ALERTS{node="{node}"} > 0' },
    });
  });

  test.each([
    ...['', 'http', 'http file:///etc/passwd', 'http ftp://x/', 'http http://a/ b', 'ping 127.0.0.1'],
    ...['condition', 'condition Ready=Yes', 'command ../x', 'command /bin/sh -c id', 'promql http://p:9090'],
  ])('is refused: %j', (text) => {
    expect(() => parseProbe(text)).toThrow(ImagoError);
  });

  test('names the node and its address, and a forwarded port of this host', () => {
    const node = { name: 'web-1', address: '10.0.0.5' };
    expect(fillIn('http://{address:80}/{node}', node)).toBe('http://10.0.0.5:80/web-1');
    const forwards = [{ guestPort: 80, hostPort: 41_000 }];
    expect(fillIn('{address:80} {address:81}', { ...node, forwards })).toBe('127.0.0.1:41000 10.0.0.5:81');
    expect(fillIn('{address:80}', { name: 'web-1', address: 'fd00::5' })).toBe('[fd00::5]:80');
    expect(fillIn('{address:80}', { name: 'web-1' })).toBeUndefined();
    expect(fillIn('{node}', { name: 'web-1' })).toBe('web-1');
  });
});

describe('an answer of Prometheus', () => {
  const answer = (...result: object[]) =>
    JSON.stringify({ status: 'success', data: { resultType: 'vector', result } });

  test('without samples lets the probe hold, and with some it fails', () => {
    expect(judgeQuery(answer())).toBeUndefined();
    const sample = { metric: { alertname: 'Down', node: 'web-1' }, value: [0, '1'] };
    expect(judgeQuery(answer(sample, sample))).toBe(
      'the query returns 2 samples, such as "alertname=Down, node=web-1"',
    );
  });

  test.each(['', 'null', '{"status":"error","error":"parse error"}', '{"status":"success","data":{}}'])(
    'that is none says nothing about the nodes: %s',
    (body) => {
      expect(() => judgeQuery(body)).toThrow(ImagoError);
    },
  );
});
