import htm from './htm.js';
import { Component, h } from './preact.js';

/** A template of the page. A later render changes in place only what is different, so that focus and selection stay. */
export const html = htm.bind(h);

/** A part that is drawn again only when something that it shows has changed, and not with each second. */
export class StillComponent extends Component {
  shouldComponentUpdate(props, state) {
    return (
      state !== this.state || Object.keys(props).some((name) => props[name] !== this.props[name])
    );
  }
}
