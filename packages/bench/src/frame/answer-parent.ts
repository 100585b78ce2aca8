/**
 * The other end of `Child.ask`: says that the program is ready, then answers each message with what `work` makes of it,
 * or with the error it throws. Ends with its parent.
 */
export function answerParent<Message>(work: (message: Message) => unknown): void {
  const send = process.send?.bind(process);
  if (send === undefined) throw new Error('this program is started by the bench');
  process.on('message', async (message: Message) => {
    try {
      send((await work(message)) ?? null);
    } catch (error) {
      send(error instanceof Error ? error : new Error(String(error)));
    }
  });
  process.on('disconnect', () => process.exit());
  send('ready');
}
