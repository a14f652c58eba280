// Sizes of machines in Azure as far as they decide which image boots there: a table by family, from Microsoft's pages of
// sizes. What is not in it is left to Azure to judge.
import { ImagoError } from '../error/imago-error.ts';
import type { Architecture } from '../image/platform.ts';

export interface SizeFacts {
  readonly family: string;
  readonly architecture: Architecture;
  /** Hyper-V generations that it starts. */
  readonly generations: readonly (1 | 2)[];
}

const both = [1, 2] as const;
const first = [1] as const;
const second = [2] as const;

/** `#` stands for the number of processors. Letters after it are the features of the family. */
const families: readonly (readonly [
  family: string,
  pattern: string,
  Architecture,
  SizeFacts['generations'],
])[] = [
  ['A', 'Standard_A#', 'x64', first],
  ['Av2', 'Standard_A#m?_v2', 'x64', first],
  ['B', 'Standard_B#(?:ls|s|ms)', 'x64', both],
  ['Bsv2', 'Standard_B#(?:ts|ls|s)_v2', 'x64', both],
  ['Basv2', 'Standard_B#(?:ats|als|as)_v2', 'x64', both],
  ['Bpsv2', 'Standard_B#(?:pts|pls|ps)_v2', 'arm64', second],
  ['Dv2', 'Standard_D#_v2', 'x64', first],
  ['DSv2', 'Standard_DS#_v2', 'x64', both],
  ['Dv3, Ev3', 'Standard_[DE]#_v3', 'x64', first],
  ['Dsv3, Esv3', 'Standard_[DE]#s_v3', 'x64', both],
  ['Dv4, Dv5, Ev4, Ev5', 'Standard_[DE]#(?:-\\d+)?(?:d|s|ds|a|as|ad|ads|ls|lds|bs|bds)?_v[45]', 'x64', both],
  ['Dpv5, Epv5', 'Standard_[DE]#(?:ps|pds|pls|plds)_v5', 'arm64', second],
  ['Dv6, Ev6, Dv7, Ev7', 'Standard_[DE]#(?:-\\d+)?(?:s|ds|as|ads|ls|lds|als|alds)_v[67]', 'x64', second],
  ['Dpv6, Epv6', 'Standard_[DE]#(?:ps|pds|pls|plds)_v6', 'arm64', second],
  ['DC, EC', 'Standard_[DE]C#(?:s|ds|as|ads|es|eds)_?(?:cc_)?v[2-6]', 'x64', second],
  ['F', 'Standard_F#', 'x64', first],
  ['Fs', 'Standard_F#s', 'x64', both],
  ['Fsv2', 'Standard_F#s_v2', 'x64', both],
  ['Fasv6, Fasv7', 'Standard_F#(?:as|als|ams|ads|alds|amds)_v[67]', 'x64', second],
  ['Lsv2, Lsv3, Lasv3', 'Standard_L#a?s_v[23]', 'x64', both],
  ['M', 'Standard_M#(?:-\\d+)?(?:ms|s|ls|ts)?', 'x64', both],
  ['Mv2, Mv3', 'Standard_M#(?:-\\d+)?(?:ms|s|is|ims|ds|dms|ids|idms)_(?:\\d_)?v[23]', 'x64', second],
  ['NCv3, NCasT4v3', 'Standard_NC#(?:r?s|as_T4)_v3', 'x64', both],
  ['NCadsA100v4, NDv4, NDv5', 'Standard_N[CD]#\\w*_v[45]', 'x64', second],
];
const patterns = families.map(([family, pattern, architecture, generations]) => ({
  facts: { family, architecture, generations },
  pattern: new RegExp(`^${pattern.replace('#', '[1-9]\\d{0,2}')}$`, 'i'),
}));

/** Returns what is known of a size; `undefined` if it is in no family of the table. */
export function sizeFacts(size: string): SizeFacts | undefined {
  return patterns.find(({ pattern }) => pattern.test(size))?.facts;
}

/** Throws `input-invalid` if a machine of that size cannot start the image, or the text is no size of Azure. */
export function checkAzureSize(
  size: string,
  image: { readonly architecture: Architecture; readonly generations: readonly (1 | 2)[] },
): void {
  const fits = image.architecture === 'arm64' ? 'Standard_D2ps_v5' : 'Standard_D2s_v5';
  const hint = `A size that fits: ${fits}. See \`az vm list-skus\`.`;
  if (!/^(?:Standard|Basic)_\w[\w-]*$/i.test(size)) {
    throw new ImagoError('input-invalid', `${JSON.stringify(size)} is not a size of machines in Azure.`, {
      hint,
    });
  }
  const facts = sizeFacts(size);
  if (facts === undefined) return;
  if (facts.architecture !== image.architecture) {
    throw new ImagoError(
      'input-invalid',
      `${size} (family ${facts.family}) is ${facts.architecture}, and the image is ${image.architecture}.`,
      { hint },
    );
  }
  if (facts.generations.some((one) => image.generations.includes(one))) return;
  throw new ImagoError(
    'input-invalid',
    `${size} (family ${facts.family}) starts generation ${facts.generations.join(' and ')} only, and the image is generation ${image.generations.join(' and ')}.`,
    { hint },
  );
}
