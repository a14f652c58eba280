// What this machine lacks, and how to get it.
import { localDoctor } from '../../launcher/process.ts';
import type { CommandSpec, Invocation } from '../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Tell what this machine has and lacks, with the command that gets it',
  examples: [['imago doctor', 'look at this machine']],
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
  },
};

/** A machine on which no daemon can start is the one that most needs looking at. */
async function examine(invocation: Invocation) {
  try {
    const client = await invocation.client();
    return await client.call('doctor', {});
  } catch (error) {
    if (process.env.IMAGO_URL) throw error;
    invocation.out.note(`No daemon can be asked: ${(error as Error).message}`);
    return localDoctor();
  }
}
