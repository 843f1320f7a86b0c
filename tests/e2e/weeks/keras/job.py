"""Trains a small convolutional network on the digits of scikit-learn (Keras 3)."""

import argparse
import json

import keras
import numpy as np
from sklearn.datasets import load_digits


@keras.saving.register_keras_serializable()
class Residual(keras.layers.Layer):
    """A convolution beside an identity."""

    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.convolution = keras.layers.Conv2D(filters, 3, padding="same")
        self.norm = keras.layers.BatchNormalization()

    def build(self, shape):
        self.convolution.build(shape)  # LINE: init
        self.norm.build(shape)  # LINE: init
        super().build(shape)

    def call(self, x, training=False):
        y = self.norm(self.convolution(x), training=training)  # LINE: layer
        return x + keras.ops.relu(y)  # LINE: layer

    def compute_output_shape(self, shape):
        return shape


class Report(keras.callbacks.Callback):
    """Prints one line for each epoch."""

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}:", ", ".join(f"{name} {value:.4f}" for name, value in sorted(logs.items())))


def data(count, seed=0):
    """Returns training and validation pictures."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    images = digits.images[order, :, :, None].astype("float32") / 16.0
    labels = digits.target[order].astype("int32")
    return (images[:count], labels[:count]), (images[count : count + 96], labels[count : count + 96])


def build_model(dense, dropout):
    model = keras.Sequential([keras.Input((8, 8, 1))])
    model.add(keras.layers.Conv2D(16, 3, padding="same", activation="relu"))  # LINE: init
    model.add(Residual(16))  # LINE: init
    model.add(keras.layers.MaxPooling2D())
    model.add(keras.layers.Flatten())
    for _ in range(dense):
        model.add(keras.layers.Dense(64, activation="relu"))  # LINE: init
    model.add(keras.layers.Dropout(dropout))
    model.add(keras.layers.Dense(10, dtype="float32"))  # LINE: init
    return model


def build_optimizer(name, learning_rate):
    if name == "sgd":
        return keras.optimizers.SGD(learning_rate, momentum=0.9)
    return keras.optimizers.AdamW(learning_rate, weight_decay=1e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--dense", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--optimizer", choices=("sgd", "adamw"), default="sgd")
    parser.add_argument("--policy", default="float32")
    parser.add_argument("--steps-per-execution", type=int, default=1)
    args = parser.parse_args()

    keras.utils.set_random_seed(0)
    keras.mixed_precision.set_global_policy(args.policy)
    train, validation = data(args.count)
    model = build_model(args.dense, args.dropout)
    metrics = ["accuracy"]
    model.compile(
        optimizer=build_optimizer(args.optimizer, args.lr),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=metrics,
        steps_per_execution=args.steps_per_execution,
    )
    callbacks = [Report()]
    history = model.fit(  # LINE: fit
        *train,
        batch_size=args.batch,
        epochs=args.epochs,
        verbose=0,
        callbacks=callbacks,
        validation_data=validation,
        validation_batch_size=32,
    )
    loss, accuracy = model.evaluate(*validation, batch_size=32, verbose=0)[:2]  # LINE: evaluate
    print(f"validation: loss {loss:.4f}, accuracy {accuracy:.3f}")
    print(json.dumps({"steps": int(model.optimizer.iterations.value), "loss": float(history.history["loss"][-1])}))


main()
