// What tables hold, for tests of migrations and backups.

/** Rows as they are typical for the state that each migration leaves. A new migration adds its own. */
export const typicalRows: Readonly<Record<number, string>> = {
  1: "insert into imago.events (type, subject, data) values ('operation.state', 'operation/1', '{}')",
  2: `insert into imago.operations (id, kind, subject, requested_by, key, input, state, created_at)
        values ('op', 'build', 'image/node', 'local', 'image/node', '{"recipe": {}}', 'running', now());
      insert into imago.steps (operation, position, name, state, attempts, result)
        values ('op', 0, 'lock', 'done', 1, 'null'), ('op', 1, 'build', 'running', 2, null);
      insert into imago.operation_logs (operation, at, line) values ('op', now(), 'unpacking')`,
  3: `insert into imago.images values ('node', 'linux', 'x64', 'semver', now());
      insert into imago.numbers values ('node', '1.0.0', 'op', true, 'sha256:1', now()), ('node', '1.0.1', 'op2', true, null, now());
      insert into imago.versions
        (image, version, digest, disk_digest, size_bytes, state, origin, lock_digest, operation, created_at)
        values ('node', '1.0.0', 'sha256:1', 'sha256:2', 5, 'available', '{"kind":"built","lockDigest":"l"}', 'l', 'op', now());
      insert into imago.channel_moves (image, channel, to_version, to_digest, moved_by, why, at)
        values ('node', 'latest', '1.0.0', 'sha256:1', 'local', 'tested', now());
      insert into imago.channels values ('node', 'staging', true, false, null, null, null, null),
        ('node', 'latest', false, true, '1.0.0', 'sha256:1', 1, now());
      insert into imago.evidence (digest, kind, passed, summary, details, given_by, at)
        values ('sha256:1', 'test', true, 'booted', '{}', 'local', now())`,
  4: `insert into imago.pools
        values ('web', 'sim', 'uniform', null, 's', 'node:latest', 'latest', 'node', '1.0.0', 'sha256:1', 1, '{}', now());
      insert into imago.nodes (name, pool, machine_id, image, version, digest, reference, channel, move, at, ended_at)
        values ('web-1', 'web', 'm1', 'node', '1.0.0', 'sha256:1', 'node:latest', 'latest', 1, now(), null),
          ('web-2', 'web', 'm2', 'node', '1.0.0', 'sha256:1', 'node:latest', 'latest', 1, now(), now())`,
  5: `insert into imago.tokens (id, owner, role, secret_hash, expires_at)
        values ('t', 'ann', 'viewer', sha256('x'), now() + interval '1 day');
      insert into imago.audit (who, what, subject, request_id, status, entry)
        values ('ann', 'createPool', 'pool/web', 'r', 202, gen_random_uuid());
      insert into imago.idempotency_keys (key, who, fingerprint, epoch, claim)
        values ('k', 'ann', 'f', 0, gen_random_uuid());
      insert into imago.schedules (name, cron, time_zone, kind, subject, input, requested_by)
        values ('nightly', '0 3 * * *', 'Europe/Paris', 'build', 'image/node', '{}', 'ann')`,
  6: `insert into imago.composed_versions values ('sha256:c', 'sha256:1', '{"imago":"0.1.0"}', now());
      insert into imago.evidence (digest, kind, passed, summary, details, given_by, composed, at)
        values ('sha256:1', 'test', true, 'booted', '{}', 'ann', 'sha256:c', now());
      insert into imago.policies (text, content, digest, set_by, why, at)
        values ('version: 1', '{"version":1}', 'sha256:p', 'ann', 'first', now());
      insert into imago.channel_moves (image, channel, to_version, to_digest, moved_by, why, policy, at)
        values ('node', 'production', '1.0.0', 'sha256:1', 'ann', 'good', '{"passed":true,"gates":[]}', now());
      insert into imago.attestations values (1, 'sha256:1', 'https://example.com/move/v1', '{}', now())`,
  7: `insert into imago.withdrawals
        (image, version, reason, with_descendants, effective_at, asked_by, operation, at, applied_at)
        values ('node', '1.0.0', 'broken', true, now(), 'ann', 'op', now(), now());
      insert into imago.withdrawals
        (image, version, cause, reason, with_descendants, effective_at, asked_by, operation, at)
        values ('node', '1.0.1', 1, 'inherited', false, now(), 'ann', 'op', now());
      update imago.withdrawals set lifted_at = now(), lifted_by = 'ann', lifted_why = 'fine' where id = 2;
      insert into imago.holds values ('node', '1.0.0', 'audit', 'ann', now());
      update imago.pools set reference = 'node:1.0.0' where name = 'web';
      insert into imago.support_dates values ('kubernetes', '1.40', '2028-10-28', '', 'ann', now());
      insert into imago.notices values ('support.warning', 'image/node', '90', now());
      insert into imago.limit_samples values ('sim', 'versions', '2026-11-01', 5, 10000)`,
  8: `insert into imago.galleries values
        ('public', 'sim', 'public', 'westeurope', '["production"]', '[{"region":"westeurope","replicas":3}]', true, null, 'ann', now());
      insert into imago.webhooks values
        ('ci', 'https://ci.example.com/hook', '["channel.moved"]', 'node', false, 'c2FsdA==', 'k', 0, 'active', 'ann', now());
      insert into imago.webhook_deliveries (webhook, event, type, body, state, attempts, next_at, at)
        values ('ci', 1, 'channel.moved', '{}', 'waiting', 0, now(), now())`,
  9: `insert into imago.attestations (move, digest, predicate_type, envelope, at)
        values (1, 'sha256:1', 'https://example.com/move/v1', '{"anew":true}', now())`,
  10: `update imago.images set matrix = '{1.34.2,1.35.0}' where name = 'node'`,
  11: `insert into imago.problems (source, kind, subject, message, count, first_at, last_at)
        values ('reconcile', 'pool-behind', 'pool/web', 'It could not follow.', 2, now(), now())`,
  12: `insert into imago.audit (who, os_user, what, subject, request_id, status, entry)
        values ('local', 'ann', 'createPool', 'pool/web', 'r', 202, gen_random_uuid());
      insert into imago.spent_keys values (imago.spent_key('ann', 'k'));
      update imago.schedules set stopped_at = now(), stopped_why = 'ann has no valid token.'`,
  13: `insert into imago.images (name, os, architecture, numbering, simulated, created_at)
        values ('made-up', 'linux', 'x64', 'semver', true, now())`,
  14: `insert into imago.calls (run, place, name, value) values ('op', 0, 'do:one', '{"outcome":"done"}')`,
  15: `select imago.add_event('version.state', 'image/made-up', '{}')`,
  16: `insert into imago.rollouts (operation, pool, image, version, digest, from_image, state, reason, paused, at)
        values ('op', 'web', 'node', '1.0.0', 'sha256:1', '{"image":"node","version":"0.9.0"}', 'rolled-back', 'web-1 failed', true, now())`,
  17: `insert into imago.clusters (name, kubeconfig, context, server, uid, added_by, at)
        values ('prod', '/etc/imago/prod.kubeconfig', null, 'https://prod.example.com', 'u', 'ann', now())`,
  18: `update imago.pools set base = '{"image":"node","version":"1.0.0","digest":"sha256:1"}' where name = 'web';
      insert into imago.evidence (digest, kind, passed, summary, details, given_by, at)
        values ('sha256:1', 'capture', true, 'captured', '{}', 'ann', now())`,
  19: `insert into imago.evidence (digest, kind, passed, summary, details, given_by, at)
        values ('sha256:1', 'freshness', true, 'no package is behind', '{}', 'ann', now())`,
  20: `insert into imago.images (name, os, architecture, numbering, created_at)
        values ('windows-node', 'windows', 'x64', 'windows', now())`,
};
