// Which version serves a Kubernetes version best, and what is near when none does.
import { ImagoError } from '../error/imago-error.ts';
import { compareAge, type VersionRecord } from '../image/version.ts';
import { compareLoosely } from '../value/loose-version.ts';
import { orList } from '../value/suggest.ts';

export type KubernetesVersion = Pick<
  VersionRecord,
  'image' | 'version' | 'state' | 'kubernetes' | 'createdAt' | 'reason'
>;

/** `1.34` fits every patch of it, `1.34.2` only itself. */
export function fitsKubernetes(kubernetes: string | undefined, asked: string): boolean {
  return kubernetes === asked || (kubernetes?.startsWith(`${asked}.`) ?? false);
}

/** Throws `input-invalid` for what is neither a minor version nor a patch. A leading `v` is passed over. */
export function readKubernetes(text: string): string {
  const asked = text.replace(/^v/, '');
  if (/^[0-9]+\.[0-9]+(?:\.[0-9]+)?$/.test(asked)) return asked;
  throw new ImagoError('input-invalid', `${JSON.stringify(text)} is not a Kubernetes version.`, {
    hint: 'Write it like 1.34 or 1.34.2.',
  });
}

/** Available ones, the best first: the highest patch, and of that the one made last. */
export function bestForKubernetes<T extends KubernetesVersion>(versions: readonly T[]): readonly T[] {
  return versions
    .filter(({ state }) => state === 'available')
    .sort((a, b) => compareLoosely(b.kubernetes ?? '', a.kubernetes ?? '') || compareAge(b, a));
}

/** Says why there is none (withdrawn, not tested, failed since, never made), and which Kubernetes versions there are. */
export function kubernetesNotFound(
  image: string,
  asked: string,
  all: readonly KubernetesVersion[],
): ImagoError {
  const [newest] = all
    .filter(({ kubernetes }) => fitsKubernetes(kubernetes, asked))
    .sort((a, b) => compareAge(b, a));
  const why =
    newest === undefined
      ? 'none was ever made'
      : newest.state === 'available'
        ? `the newest test of ${image}:${newest.version} failed`
        : `${image}:${newest.version} is ${newest.state}${newest.reason === undefined ? '' : `: ${newest.reason}`}`;
  const near = nearestKubernetes(asked, bestForKubernetes(all));
  return new ImagoError(
    'kubernetes-not-found',
    `Image ${image} has no available version with Kubernetes ${asked}: ${why}.`,
    {
      hint:
        near.length === 0
          ? `See \`imago image list ${image}\`.`
          : `The nearest that are available: ${orList(near.map((one) => `${one.kubernetes} (\`${image}:${one.version}\`)`))}.`,
    },
  );
}

/** The highest below and the lowest above, the newest build of each. `best` is sorted so. */
function nearestKubernetes<T extends KubernetesVersion>(asked: string, best: readonly T[]): readonly T[] {
  const known = best.filter(({ kubernetes }) => kubernetes !== undefined);
  const below = known.find(({ kubernetes = '' }) => compareLoosely(kubernetes, asked) < 0);
  const lowest = known.findLast(({ kubernetes = '' }) => compareLoosely(kubernetes, asked) > 0);
  const above = lowest && known.find(({ kubernetes }) => kubernetes === lowest.kubernetes);
  return [below, above].filter((one) => one !== undefined);
}
