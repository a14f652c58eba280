import { afterEach, expect, test, vi } from 'vitest';
import { command } from './build.ts';

afterEach(() => void vi.unstubAllEnvs());

test("no words of another machine's daemon are run here: --shell-on-failure is refused with IMAGO_URL", async () => {
  vi.stubEnv('IMAGO_URL', 'https://imago.example.com');
  const invocation = { args: {}, flags: { 'shell-on-failure': true }, client: vi.fn() };
  await expect(command.run(invocation as never)).rejects.toMatchObject({
    code: 'usage-invalid',
    message: expect.stringContaining('--shell-on-failure'),
  });
  expect(invocation.client).not.toHaveBeenCalled();
});
