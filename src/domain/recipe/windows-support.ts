// Until when Microsoft supports a Windows Server, as its lifecycle pages say: the last days, by build.
import type { Recipe } from './recipe.ts';
import { plannedBuild, readBuild } from './windows.ts';

interface WindowsLifecycle {
  readonly name: string;
  /** Afterwards, expect security updates alone. */
  readonly mainstream: string;
  readonly security: string;
}

export const windowsLifecycles: Readonly<Record<number, WindowsLifecycle>> = {
  17763: { name: 'Windows Server 2019', mainstream: '2024-01-09', security: '2029-01-09' },
  20348: { name: 'Windows Server 2022', mainstream: '2026-10-13', security: '2031-10-14' },
  25398: { name: 'Windows Server 23H2', mainstream: '2025-04-24', security: '2025-10-24' },
  26100: { name: 'Windows Server 2025', mainstream: '2029-11-13', security: '2034-11-14' },
};

function lifecycleOf({ windows = {} }: Pick<Recipe, 'windows'>): WindowsLifecycle | undefined {
  return windowsLifecycles[readBuild(plannedBuild(windows) ?? '').build];
}

/** What is wrong with the recipe's own end of support; `undefined` if nothing is. */
export function supportProblem(recipe: Pick<Recipe, 'windows' | 'support'>): string | undefined {
  const [until, found] = [recipe.support?.until, lifecycleOf(recipe)];
  if (until === undefined || found === undefined || until <= found.security) return undefined;
  return `${found.name} has security updates until ${found.security}, which is before ${until}`;
}

/** What a build of the recipe reports on that day (YYYY-MM-DD). */
export function supportNotice(recipe: Pick<Recipe, 'windows'>, today: string): string | undefined {
  const found = lifecycleOf(recipe);
  if (found === undefined || today <= found.mainstream) return undefined;
  const { name, mainstream, security } = found;
  return today > security
    ? `${name} is out of support since ${security}: it has no security updates.`
    : `Mainstream support of ${name} ended on ${mainstream}; it has security updates until ${security}.`;
}
