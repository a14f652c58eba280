// A catalogue as large as the largest that Imago is measured with, written by the database itself.
import { connectClient } from '../../src/database/connection/connection.ts';

export interface CatalogueSize {
  readonly images: number;
  readonly versionsEach: number;
  readonly pools: number;
  readonly nodesEach: number;
  readonly movesEach: number;
}

export const largeCatalogue: CatalogueSize = {
  images: 200,
  versionsEach: 250,
  pools: 5_000,
  nodesEach: 40,
  movesEach: 500,
};

/**
 * Fills an empty database. In every image the first version is the ancestor of every fifth one, and that of
 * `image-000` of every fifth one of fifty other images too. Pools are of a provider that is not there, so that
 * nothing looks for their nodes.
 */
export async function loadCatalogue(url: string, epoch: number, size: CatalogueSize): Promise<void> {
  const client = await connectClient(url, { 'imago.epoch': String(epoch) });
  try {
    await client.query('begin');
    for (const statement of statements(size)) await client.query(statement);
    await client.query('commit');
    await client.query('analyze');
  } finally {
    await client.end();
  }
}

const image = (n: string) => `'image-' || lpad((${n})::text, 3, '0')`;
const digest = (n: string) => `'sha256:' || lpad(to_hex(${n}), 64, '0')`;

function statements({ images, versionsEach, pools, nodesEach, movesEach }: CatalogueSize): string[] {
  const all = `generate_series(0, ${images - 1}) i, generate_series(0, ${versionsEach - 1}) v`;
  const made = `timestamptz '2025-01-01' + (v || ' days')::interval + (i || ' seconds')::interval`;
  const state = `case when v < ${versionsEach - 40} and v % 10 = 3 then 'withdrawn' else 'available' end`;
  // Two of three moves are forward; the last one is to the newest version.
  const moved = `case when m = ${movesEach - 1} then ${versionsEach - 1} else (m * 7919 / ${movesEach} * 13 + m / 2) % ${versionsEach} end`;
  return [
    `insert into imago.images select ${image('i')}, 'linux', 'x64', 'semver', '2025-01-01'
       from generate_series(0, ${images - 1}) i`,
    `insert into imago.numbers
       select ${image('i')}, '1.0.' || v, 'op-' || i || '-' || v, true, ${digest(`1 + i * ${versionsEach} + v`)}, '2025-01-01'
       from ${all}`,
    `insert into imago.versions
       (image, version, digest, disk_digest, size_bytes, state, origin, lock_digest, kubernetes, reason,
        withdrawn_from, operation, created_at)
       select ${image('i')}, '1.0.' || v, ${digest(`1 + i * ${versionsEach} + v`)},
         ${digest(`500000 + i * ${versionsEach} + v`)}, 30000000000, ${state},
         case when v > 0 and v % 5 = 0 then json_build_object('kind', 'captured', 'node', 'donor',
             'parent', ${image(`case when i < 50 then 0 else i end`)} || ':1.0.0')
           else json_build_object('kind', 'built', 'lockDigest', 'lock-' || i || '-' || v) end,
         case when v % 5 = 0 and v > 0 then null else 'lock-' || i || '-' || v end,
         '1.' || (36 + v % 4) || '.' || v, case when ${state} = 'withdrawn' then 'old' end,
         case when ${state} = 'withdrawn' then 'available' end, 'op-' || i || '-' || v, ${made}
       from ${all}`,
    `insert into imago.channel_moves
       (image, channel, from_version, to_version, to_digest, moved_by, why, operation, at)
       select ${image('i')}, case m % 2 when 0 then 'staging' else 'production' end, null,
         '1.0.' || ${moved}, ${digest(`1 + i * ${versionsEach} + (${moved})`)}, 'bench', 'weekly', 'move-' || i || '-' || m,
         timestamptz '2025-06-01' + (m || ' hours')::interval
       from generate_series(0, ${movesEach - 1}) m, generate_series(0, ${images - 1}) i order by m, i`,
    `insert into imago.channels (image, name, for_testing, managed, position, version, digest, move, moved_at)
       select ${image('i')}, c.name, c.name = 'staging', c.name = 'latest', c.position,
         case when c.name = 'latest' then '1.0.${versionsEach - 1}' else last.to_version end,
         case when c.name = 'latest' then ${digest(`${versionsEach} + i * ${versionsEach}`)} else last.to_digest end,
         last.id, last.at
       from generate_series(0, ${images - 1}) i
       cross join (values ('staging', 1), ('production', 2), ('latest', 3)) as c (name, position)
       left join lateral (
         select * from imago.channel_moves m where m.image = ${image('i')} and m.channel = c.name
         order by id desc limit 1) last on true`,
    `insert into imago.pools
       select 'pool-' || lpad(p::text, 4, '0'), 'azure', 'uniform', null, 'small', c.image || ':production', 'production',
         c.image, c.version, c.digest, c.move, '{}', '2025-06-01'
       from generate_series(0, ${pools - 1}) p
       join imago.channels c on c.image = ${image(`p % ${images}`)} and c.name = 'production'`,
    `insert into imago.nodes (name, pool, machine_id, image, version, digest, reference, channel, move, at)
       select p.name || '-' || lpad(n::text, 6, '0'), p.name, p.name || '-' || n, m.image, m.to_version, m.to_digest,
         p.reference, 'production', m.id, '2025-07-01'
       from imago.pools p
       cross join generate_series(0, ${nodesEach - 1}) n
       join lateral (
         select * from imago.channel_moves m where m.image = p.image and m.channel = 'production'
         order by id desc offset n % 7 limit 1) m on true`,
  ];
}
