// Checks whether Imago can sign in to Azure and read its resource group, if the settings turn Azure on.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { ProcessEnvironment } from '../../launcher/paths.ts';
import { openSettings } from '../../launcher/settings-file.ts';
import { missingAzureSettings, openAzureProvider } from '../providers/azure.ts';
import { type CheckResult, type DoctorCheck, missing, ok } from './check.ts';

export function azureChecks(home: string, { env }: ProcessEnvironment): readonly DoctorCheck[] {
  const settings = openSettings(home).read();
  const absent = missingAzureSettings(settings);
  if (absent === undefined) return [];
  return [
    {
      ...{ id: 'azure.access', group: 'Azure', title: 'Access' },
      async run(signal): Promise<CheckResult> {
        if (absent.length > 0) {
          const [first] = absent;
          return missing(
            `The settings ${absent.join(' and ')} are missing.`,
            `imago config set ${first} VALUE`,
          );
        }
        const store = () => Promise.reject(new Error('A check uploads nothing.'));
        const azure = await openAzureProvider({ settings, home, env, store, onTrouble: () => undefined });
        try {
          const way = await azure?.check(signal);
          return ok(`Signed in (${way}); the galleries of the resource group can be read.`);
        } catch (thrown) {
          const { message, hint } = ensureImagoError(thrown);
          return missing(message, hint || 'See docs/azure.md.');
        } finally {
          await azure?.close();
        }
      },
    },
  ];
}
