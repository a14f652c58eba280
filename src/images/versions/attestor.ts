// Signs statements about versions with the key of now: the envelope for whoever asked, and a copy at the version
// where the store has it, so that it goes along to registries.
import type { Attestor } from '../../ports/attestor.ts';
import { parseDigest } from '../store/digest.ts';
import { signStatement, statementOf } from '../store/dsse.ts';
import { signingKey } from '../store/keyring.ts';
import { attestVersion } from '../store/sign.ts';
import type { VersionsContext } from './versions-context.ts';

export interface AttestorContext extends Pick<VersionsContext, 'store' | 'keys' | 'passphrase' | 'now'> {
  /** Whether the store has the version. Opens nothing when nothing was ever stored. */
  has(digest: string): Promise<boolean>;
}

export function createAttestor({ store, keys, passphrase, now, has }: AttestorContext): Attestor {
  return {
    async attest({ digest: text, name, predicateType, predicate }) {
      const at = new Date(now()).toISOString();
      if (signingKey(await keys.keyring(), at) === undefined) return undefined;
      const key = await keys.load(at, passphrase);
      const digest = parseDigest(text);
      if (await has(text)) {
        await attestVersion(await store(), digest, key, { name, predicateType, predicate });
      }
      return signStatement(statementOf(digest, name, predicateType, predicate), key).toString('utf8');
    },
  };
}
