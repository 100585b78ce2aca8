// Stories in Storybook's format. Each has a service of its own behind msw: it starts before the story is shown, and no server is needed.
import { Shortlink, ShortlinkError } from '@shortlink/sdk';
import { type PageServiceOptions, startPageService } from '@shortlink/server/browser';
import { http } from 'msw';
import { setupWorker } from 'msw/browser';

// The component, in a file of its own in your app. It knows nothing of tests: it sends its requests with the page's own fetch.
function shortenForm(options: { baseUrl: string; apiKey: string }): HTMLFormElement {
  const shortlink = new Shortlink(options);
  const form = document.createElement('form');
  form.innerHTML = '<label>URL <input name="url"></label><button>Shorten</button><output></output>';
  const output = form.querySelector('output');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const target_url = String(new FormData(form).get('url'));
    const text = await shortlink.links.create({ target_url }).then(
      (link) => link.short_url,
      (error: unknown) => (ShortlinkError.isInstance(error) ? error.message : 'Not now.'),
    );
    if (output !== null) output.textContent = text;
  });
  return form;
}

const worker = setupWorker();
let started: Promise<unknown> | undefined;

/** Starts the service of a story; Storybook hands what a loader returns to the story, as `loaded`. */
const serviceWith = (options: PageServiceOptions) => async () => {
  const service = await startPageService(options);
  started ??= worker.start({ quiet: true });
  await started;
  worker.resetHandlers(...service.handlers(http));
  return { baseUrl: service.url, apiKey: service.apiKey };
};

interface Context {
  loaded: { baseUrl: string; apiKey: string };
}

export default { title: 'Shorten form' };

export const Working = {
  loaders: [serviceWith({})],
  render: (_: object, { loaded }: Context) => shortenForm(loaded),
};

/** The plan has no room for a link. */
export const PlanIsFull = {
  loaders: [serviceWith({ plan: 'custom', limits: { links: 0 } })],
  render: (_: object, { loaded }: Context) => shortenForm(loaded),
};

/** The first request is refused for a second. The client waits, and the person sees nothing of it. */
export const RateLimited = {
  loaders: [
    serviceWith({ faults: [{ fault: { kind: 'answer', status: 429, retryAfterSeconds: 1 } }] }),
  ],
  render: (_: object, { loaded }: Context) => shortenForm(loaded),
};
