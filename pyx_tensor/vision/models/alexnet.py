"""AlexNet (Krizhevsky, 2014)."""
from ... import nn
from ._builder import builder
from ._weights import urls_of


class AlexNet(nn.Module):
    """Five convolutions and three linear layers.

    Args:
        num_classes: how many scores there are.
        dropout: the probability of the dropout ahead of the linear layers.

    Shapes: input (N, 3, H, W), about 224 wide; output (N, num_classes).
    """

    def __init__(self, num_classes=1000, dropout=0.5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2))
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(inplace=True),
            nn.Dropout(dropout), nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Linear(4096, num_classes))

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


alexnet = builder("alexnet", AlexNet, "AlexNet (Krizhevsky, 2014).")

model_urls = urls_of("alexnet")
