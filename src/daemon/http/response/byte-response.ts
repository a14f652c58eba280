// Streams bytes. An error before the first one is an ordinary response; a later one truncates the response, which the
// client detects by its length.

/** Calls `end` when the client stops reading. */
export async function byteResponse(
  content: AsyncGenerator<Uint8Array>,
  sizeBytes: number,
  end: () => Promise<void> = async () => undefined,
): Promise<Response> {
  const first = await content.next().catch(async (error: unknown) => {
    await end();
    throw error;
  });
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (first.done === true) controller.close();
        else controller.enqueue(first.value);
      },
      async pull(controller) {
        const { done, value } = await content.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await content.return(undefined);
        await end();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(stream, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(sizeBytes),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}
