// Checks this host for missing prerequisites.
import { localDoctor } from '../../../launcher/process.ts';
import type { CommandSpec, Invocation } from '../../spec/command.ts';

export const command: CommandSpec = {
  details: 'Exits with 1 if something is missing (✗); a warning (!) does not fail.',
  examples: [['imago doctor', 'Check this host']],
  async run(invocation) {
    const report = await examine(invocation);
    const { style } = invocation.out;
    const marks = { ok: style.green('✓'), warn: style.yellow('!'), missing: style.red('✗') };
    invocation.out.thing(report, report.ok ? 'ok' : 'missing', () =>
      report.findings.flatMap((finding) => [
        `${marks[finding.state]} ${finding.title}: ${finding.detail}`,
        ...(finding.fix === undefined ? [] : [`    ${style.dim(finding.fix)}`]),
      ]),
    );
    if (!report.ok) process.exitCode = 1;
  },
};

/** Checks this host directly if no daemon can start, which is when the check matters most. */
async function examine(invocation: Invocation) {
  try {
    const client = await invocation.client();
    return await client.call('doctor');
  } catch (error) {
    if (process.env.IMAGO_URL) throw error;
    invocation.out.note(`No daemon is reachable: ${(error as Error).message}`);
    return localDoctor();
  }
}
