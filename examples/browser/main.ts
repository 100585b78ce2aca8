// A page in which each user types in their own API key. The page stores no key, because everybody who can open a page can read what is in it.
import { Shortlink, ShortlinkError } from '@shortlink/sdk';

const form = document.querySelector('form');
const output = document.querySelector('output');
if (form === null || output === null) throw new Error('index.html has changed');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const field = (name: string) => String(new FormData(form).get(name));
  const button = form.querySelector('button');
  button?.setAttribute('disabled', '');
  output.textContent = 'Shortening…';
  try {
    const shortlink = new Shortlink({
      apiKey: field('apiKey'),
      baseUrl: field('baseUrl'),
      hooks: {
        onCooldown: ({ waitMs }) => {
          output.textContent = `The plan's limit is reached; going on in ${Math.ceil(waitMs / 1000)} s…`;
        },
      },
    });
    const link = await shortlink.links.create({ target_url: field('url') });
    const anchor = document.createElement('a');
    anchor.href = link.short_url;
    anchor.textContent = link.short_url;
    output.replaceChildren(anchor);
  } catch (error) {
    if (!ShortlinkError.isInstance(error)) throw error;
    output.textContent = error.message;
  } finally {
    button?.removeAttribute('disabled');
  }
});
