// DBOS looks around on its own for what Imago does not use: schedules of DBOS, every second for the first minute, and
// telemetry to send away, ten times a second. A daemon that has nothing to do would do that for ever.

/** Before the first launch: DBOS then never looks for schedules of its own. A second call changes nothing. */
export async function forgoSchedules(): Promise<void> {
  const { DynamicSchedulerLoop } = await import('@dbos-inc/dbos-sdk/internal/scheduler/scheduler');
  DynamicSchedulerLoop.prototype.initialize = async () => undefined;
}

/** After each launch. Without an exporter nothing is ever gathered; DBOS's logger goes on as before. */
export async function endTelemetry(): Promise<void> {
  const { DBOSExecutor } = await import('@dbos-inc/dbos-sdk/internal/dbos-executor');
  await DBOSExecutor.globalInstance?.logger.destroy();
}
