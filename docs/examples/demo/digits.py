"""Trains a small network on scikit-learn's handwritten digits, saves it, and reads it back in a new process.

    python digits.py                trains, saves, then starts itself again to show what was learned
    python digits.py show FILE      loads the saved network and shows some digits with its predictions
"""
import subprocess
import sys
from pathlib import Path

import pyx_tensor as torch
from sklearn.datasets import load_digits
from tqdm import tqdm

EPOCHS, BATCH = 25, 32
OUTPUT = Path("demo_output")
SHADES = " .:-=+*#%@"


def load_data():
    """(images, labels) for training and for testing: a fifth, drawn once and for all, is held out."""
    images, labels = load_digits(return_X_y=True)
    images, labels = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels, dtype=torch.int64)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    cut = len(images) // 5
    held_out, rest = order[:cut], order[cut:]
    return (images[rest], labels[rest]), (images[held_out], labels[held_out])


def make_model():
    return torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(128, 10))


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def train(model, images, labels):
    """Adam on shuffled batches, which two processes prepare; returns the last epoch's mean loss."""
    samples = torch.utils.data.TensorDataset(images, labels)
    batches = torch.utils.data.DataLoader(samples, BATCH, shuffle=True, num_workers=2, persistent_workers=True)
    # A large eps: with 1e-8 Adam would blow rounding up to whole steps where gradients vanish, and no two libraries would print one loss.
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, eps=1e-3)
    loss_of = torch.nn.CrossEntropyLoss()
    model.train()
    bar = tqdm(range(EPOCHS), desc="training", unit="epoch")
    for _ in bar:
        losses = []
        for some_images, their_labels in batches:
            optimizer.zero_grad()
            loss = loss_of(model(some_images), their_labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        mean = sum(losses) / len(losses)
        bar.set_postfix(loss=f"{mean:.4f}")
    return mean


def as_text(images):
    """The images side by side, dark as '@'."""
    rows = []
    for row in range(8):
        pixels = [image.view(8, 8)[row].tolist() for image in images]
        rows.append("   ".join("".join(SHADES[int(value * 9)] * 2 for value in line) for line in pixels))
    return "\n".join(rows)


def save_picture(images, predicted, path):
    try:
        import matplotlib
    except ImportError:
        print("(no picture: matplotlib is not installed)")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(images) // 2, figsize=(len(images), 4.5))
    for axis, image, digit in zip(axes.flat, images, predicted):
        axis.imshow(image.view(8, 8).numpy(), cmap="gray_r")
        axis.set_title(f"reads {digit}")
        axis.axis("off")
    figure.savefig(path)
    print(f"Picture: {path}")


def show(path):
    """What a new process makes of the saved network."""
    _, (images, labels) = load_data()
    model = make_model()
    model.load_state_dict(torch.load(path))
    print(f"Accuracy after loading: {accuracy(model, images, labels):.4f}")
    images = images[:10]
    predicted = model(images).argmax(1).tolist()
    print(as_text(images[:5]))
    print("   ".join(f"reads {digit}".ljust(16) for digit in predicted[:5]))
    save_picture(images, predicted, path.with_suffix(".png"))


def main():
    torch.manual_seed(0)
    (images, labels), held_out = load_data()
    model = make_model()
    loss = train(model, images, labels)
    print(f"Loss: {loss:.6f} after {EPOCHS} epochs")
    print(f"Accuracy on the held-out fifth: {accuracy(model, *held_out):.4f}")
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / "digits.pt"
    torch.save(model.state_dict(), path)
    print(f"Saved: {path}", flush=True)
    subprocess.run([sys.executable, __file__, "show", str(path)], check=True)


if __name__ == "__main__":
    show(Path(sys.argv[2])) if sys.argv[1:2] == ["show"] else main()
