import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { apiVersions } from './api-versions.ts';
import { imdsAnswer } from './imds-answer.ts';
import { tokenIssuer } from './local-token.ts';
import type { MachineMetadata } from './machine-metadata.ts';

const metadata: MachineMetadata = {
  machineId: '0d3cf1a4-3c1e-4a58-9c4b-1f2e3d4c5b6a',
  name: 'web-000001',
  pool: 'web',
  size: 'small',
  region: 'local',
  image: { gallery: 'main', image: 'node', version: '1.34.2', digest: 'sha256:aa' },
  userData: 'eyJhIjoxfQ==',
  tags: { team: 'blue', purpose: 'test' },
};
const interfaces = [
  { mac: '02:aa:bb:cc:dd:02', address: '198.18.0.10', subnet: '198.18.0.0', prefix: 16 },
  { mac: '02:aa:bb:cc:dd:00', address: '168.63.129.100', subnet: '168.63.129.0', prefix: 24 },
];
const tokens = tokenIssuer(generateKeyPairSync('ed25519').privateKey);
const nowMs = 1_800_000_000_000;
const v = 'api-version=2021-02-01';

function ask(url: string, change: { method?: string; headers?: Record<string, string> } = {}) {
  const { method = 'GET', headers = { metadata: 'true' } } = change;
  const facts = { metadata, interfaces, tokens, nowMs };
  const answer = imdsAnswer({ method, url, headers, body: '' }, facts);
  const json = () => JSON.parse(answer.body) as Record<string, unknown>;
  return { ...answer, json };
}

describe('what is refused', () => {
  it.each([
    ['without the header', { headers: {} }],
    ['with a header that says something else', { headers: { metadata: 'yes' } }],
    ['that was forwarded', { headers: { metadata: 'true', 'x-forwarded-for': '10.0.0.1' } }],
  ])('a request %s', (_, change) => {
    expect(ask(`/metadata/instance?${v}`, change)).toMatchObject({ status: 400 });
  });

  it('a request without api-version names the newest ones', () => {
    const answer = ask('/metadata/instance');
    expect(answer.status).toBe(400);
    expect(answer.json()).toEqual({
      error:
        'Bad request. api-version was not specified in the request. For more information refer to aka.ms/azureimds',
      'newest-versions': ['2023-07-01', '2021-12-13', '2021-11-15'],
    });
  });

  it.each(['2021-02-02', '', 'latest', '2021-02-01x'])('the api-version %j', (version) => {
    expect(ask(`/metadata/instance?api-version=${version}`).status).toBe(400);
  });

  it.each([
    [`/metadata/instance/nothing?${v}`],
    [`/metadata/instance/compute/__proto__?${v}`],
    [`/metadata/instance/compute/tagsList/9?${v}`],
    [`/metadata/instance/compute/tagsList/length?${v}&format=text`],
    [`/metadata/attested/document?${v}`],
    [`/metadata/scheduledevents?${v}`],
    ['/latest/meta-data/'],
    ['/'],
  ])('the unknown path %s with 404', (url) => {
    expect(ask(url).status).toBe(404);
  });

  it('other methods than GET with 405', () => {
    expect(ask(`/metadata/instance?${v}`, { method: 'POST' }).status).toBe(405);
  });

  it('a leaf as JSON, and an unknown format', () => {
    expect(ask(`/metadata/instance/compute/vmId?${v}`).status).toBe(400);
    expect(ask(`/metadata/instance/compute/vmId?${v}&format=xml`).status).toBe(400);
  });

  it('a path that cannot be decoded', () => {
    expect(ask(`/metadata/instance/%ff?${v}`).status).toBe(400);
  });
});

describe('the instance document', () => {
  it('names the exact version, the pool and the tags', () => {
    const { compute } = ask(`/metadata/instance?${v}`).json() as { compute: Record<string, unknown> };
    expect(compute).toMatchObject({
      name: 'web-000001',
      vmId: metadata.machineId,
      vmScaleSetName: 'web',
      tags: 'team:blue;purpose:test',
      tagsList: [
        { name: 'team', value: 'blue' },
        { name: 'purpose', value: 'test' },
      ],
      userData: metadata.userData,
    });
    expect(compute.storageProfile).toMatchObject({
      imageReference: {
        id: expect.stringMatching(/galleries\/main\/images\/node\/versions\/1\.34\.2$/),
        exactVersion: '1.34.2',
      },
    });
  });

  it('lists the interface of the pool first, with its hardware address as Azure writes it', () => {
    expect(ask(`/metadata/instance/network/interface/0?${v}`).json()).toEqual({
      ipv4: {
        ipAddress: [{ privateIpAddress: '198.18.0.10', publicIpAddress: '' }],
        subnet: [{ address: '198.18.0.0', prefix: '16' }],
      },
      ipv6: { ipAddress: [] },
      macAddress: '02AABBCCDD02',
    });
    const path = 'network/interface/1/ipv4/ipAddress/0/privateIpAddress';
    expect(ask(`/metadata/instance/${path}?${v}&format=text`).body).toBe('168.63.129.100');
  });

  it('gives leaves and folders as text', () => {
    expect(ask(`/metadata/instance/compute/userData?${v}&format=text`)).toMatchObject({
      status: 200,
      type: 'text/plain; charset=utf-8',
      body: metadata.userData,
    });
    expect(ask(`/metadata/instance/?${v}&format=text`).body).toBe('compute/\nnetwork/');
    expect(ask(`/metadata/instance/compute/tagsList?${v}&format=text`).body).toBe('0/\n1/');
  });

  it('has a field only since the api-version that brought it', () => {
    const fields = (version: string) =>
      Object.keys(ask(`/metadata/instance/compute?api-version=${version}`).json());
    expect(fields('2017-03-01')).not.toContain('tags');
    expect(fields('2020-12-01')).not.toContain('userData');
    expect(fields('2021-01-01')).toContain('userData');
    expect(ask('/metadata/instance/compute/userData?api-version=2020-12-01&format=text').status).toBe(404);
  });

  it('tells all versions without asking for one', () => {
    expect(ask('/metadata/versions').json()).toEqual({ apiVersions });
  });
});

describe('the token of the managed identity', () => {
  const url = '/metadata/identity/oauth2/token?api-version=2018-02-01';

  it('says which machine asks, for one resource, and cannot be altered', () => {
    const { access_token, resource, token_type } = ask(`${url}&resource=https%3A%2F%2Fexample.com`).json();
    expect({ resource, token_type }).toEqual({ resource: 'https://example.com', token_type: 'Bearer' });
    const now = nowMs / 1000;
    const token = String(access_token);
    expect(tokens.check(token, 'https://example.com', now)).toMatchObject({ sub: metadata.machineId });
    expect(tokens.check(token, 'https://other.example.com', now)).toBeUndefined();
    expect(tokens.check(token, 'https://example.com', now + 86_400)).toBeUndefined();
    const [head = '', body = '', signature = ''] = token.split('.');
    const forged = Buffer.from(body, 'base64url').toString().replace(metadata.machineId, 'another');
    const altered = `${head}.${Buffer.from(forged).toString('base64url')}.${signature}`;
    expect(tokens.check(altered, 'https://example.com', now)).toBeUndefined();
  });

  it('needs a resource, and is not given for another identity', () => {
    expect(ask(url)).toMatchObject({ status: 400 });
    expect(ask(`${url}&resource=r&client_id=someone`).json()).toMatchObject({ error: 'invalid_request' });
    expect(ask(`${url}&resource=r&msi_res_id=x`).status).toBe(400);
  });
});
