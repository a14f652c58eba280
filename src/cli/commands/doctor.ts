// What this machine lacks, and how to get it.
import type { CommandSpec } from '../command.ts';

export const command: CommandSpec = {
  summary: 'Tell what this machine has and lacks, with the command that gets it',
  examples: [['imago doctor', 'look at this machine']],
  async run(invocation) {
    const client = await invocation.client();
    const report = await client.call('doctor', {});
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
