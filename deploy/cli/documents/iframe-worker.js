// SPDX-License-Identifier: BSD-2-Clause
// Browsers load no Worker from a file. Where the site is read from files, its search runs in a hidden frame in place of one.
(function () {
	"use strict";
	if (window.location.protocol !== "file:")
		return;

	class IFrameWorker extends EventTarget {
		constructor(url) {
			super();
			this.onmessage = null;
			this.waiting = [];
			this.frame = document.createElement("iframe");
			this.frame.hidden = true;
			document.body.appendChild(this.frame);
			const inside = this.frame.contentWindow;
			const scope = inside.document;
			inside.parent.IFrameWorker = IFrameWorker;
			inside.postMessage = (data) => this.deliver(this, data);
			inside.importScripts = (...urls) =>
				urls.reduce((before, next) => before.then(() => this.load(scope, next)), Promise.resolve());
			this.load(scope, url).then(() => {
				this.ready = true;
				this.waiting.forEach((data) => this.deliver(inside, data));
			});
		}

		load(scope, url) {
			return new Promise((done, failed) => {
				const script = scope.createElement("script");
				script.src = url;
				script.onload = done;
				script.onerror = failed;
				scope.body.appendChild(script);
			});
		}

		deliver(target, data) {
			const event = new MessageEvent("message", { data });
			target.dispatchEvent(event);
			if (target === this && this.onmessage)
				this.onmessage(event);
		}

		postMessage(data) {
			if (this.ready)
				this.deliver(this.frame.contentWindow, data);
			else
				this.waiting.push(data);
		}

		terminate() {
			this.frame.remove();
		}
	}

	window.IFrameWorker = IFrameWorker;
	window.Worker = IFrameWorker;
})();
